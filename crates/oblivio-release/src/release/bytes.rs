//! The file of a release.

use oblivio::sibling::{numbers, read, require, tensor, write};
use oblivio_base::Result;
use serde::{Deserialize, Serialize};

use super::apply::Release;

/// The release without its long vectors, and how long each of them is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ReleaseHeader {
    release: Release,
    lengths: Vec<usize>,
}

impl Release {
    /// The bytes of the file. The same release gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut release = self.clone();
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        for vector in release.numbers() {
            lengths.push(vector.len());
            values.append(vector);
        }
        let header = ReleaseHeader { release, lengths };
        write(
            "release",
            &header,
            &[tensor("numbers", &[values.len()], &values)],
        )
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (ReleaseHeader, _) = read(bytes, "release")?;
        let (values, _) = numbers(&tensors, "numbers", 1)?;
        let ReleaseHeader {
            mut release,
            lengths,
        } = header;
        let mut rest = &values[..];
        let vectors = release.numbers();
        require(vectors.len() == lengths.len(), "the length of its vectors")?;
        for (vector, length) in vectors.into_iter().zip(lengths) {
            require(length <= rest.len(), "the length of its vectors")?;
            let (own, after) = rest.split_at(length);
            *vector = own.to_vec();
            rest = after;
        }
        require(rest.is_empty(), "the length of its vectors")?;
        require(release.is_sound(), "what it makes of its columns")?;
        Ok(release)
    }
}
