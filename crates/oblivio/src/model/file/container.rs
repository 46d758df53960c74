//! The container of every model file: safetensors whose header holds one JSON text.
//!
//! Reading checks everything and runs nothing.

use std::borrow::Cow;
use std::collections::HashMap;

pub(crate) use oblivio_base::error::require;
use oblivio_base::{Error, Points, Result};
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Raised when a reader of the old format would misread the new one.
const FORMAT: u64 = 1;
/// The header's one entry.
const KEY: &str = "oblivio";

/// What every header begins with.
#[derive(Serialize, Deserialize)]
struct Envelope<H> {
    format: u64,
    version: String,
    kind: String,
    header: H,
}

/// Read first, so that a later format is told apart from a damaged file.
#[derive(Deserialize)]
struct Format {
    format: u64,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

/// The schema of one kind of file. All that writes, reads or checks such a file is in one place: the file of its schema.
pub trait Codec: Sized {
    /// The value that a file holds.
    type Value;
    /// The values needed together with the file.
    type Context<'c>;

    /// The bytes of the file. The same value gives the same bytes.
    fn write(&self) -> Result<Vec<u8>>;

    /// The header and the tensors of a file. Names, types and dimensions are checked, and nothing else.
    fn read(bytes: &[u8]) -> Result<Self>;

    /// The value, after all checks: nothing in the file is trusted.
    fn check(self, context: Self::Context<'_>) -> Result<Self::Value>;

    /// The value of a file.
    fn decode(bytes: &[u8], context: Self::Context<'_>) -> Result<Self::Value> {
        Self::read(bytes)?.check(context)
    }
}

/// Numbers in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor<'a> {
    name: Cow<'static, str>,
    /// The sides.
    pub shape: Vec<usize>,
    /// The entries, row after row.
    pub values: Cow<'a, [f64]>,
}

impl<'a> Tensor<'a> {
    /// Numbers in one dimension.
    pub fn vector(name: impl Into<Cow<'static, str>>, values: impl Into<Cow<'a, [f64]>>) -> Self {
        let values = values.into();
        Self {
            name: name.into(),
            shape: vec![values.len()],
            values,
        }
    }

    /// Numbers in two dimensions, row after row.
    pub fn matrix(
        name: impl Into<Cow<'static, str>>,
        shape: [usize; 2],
        values: impl Into<Cow<'a, [f64]>>,
    ) -> Self {
        Self {
            name: name.into(),
            shape: shape.to_vec(),
            values: values.into(),
        }
    }

    /// A row for each point.
    pub fn points(name: &'static str, points: &'a Points) -> Self {
        Self::matrix(name, [points.len(), points.dim()], points.values())
    }

    /// The finite numbers of this name in one dimension.
    pub fn read_vector(tensors: &SafeTensors, name: impl Into<Cow<'static, str>>) -> Result<Self> {
        Self::read(tensors, name.into(), 1)
    }

    /// The finite numbers of this name in two dimensions.
    pub fn read_matrix(tensors: &SafeTensors, name: &'static str) -> Result<Self> {
        Self::read(tensors, name.into(), 2)
    }

    fn read(tensors: &SafeTensors, name: Cow<'static, str>, dimensions: usize) -> Result<Self> {
        let tensor = tensors.tensor(&name).map_err(invalid)?;
        let (chunks, rest) = tensor.data().as_chunks::<8>();
        let values: Vec<f64> = chunks
            .iter()
            .map(|chunk| f64::from_le_bytes(*chunk))
            .collect();
        require(
            tensor.dtype() == Dtype::F64
                && tensor.shape().len() == dimensions
                && rest.is_empty()
                && values.iter().all(|v| v.is_finite()),
            "one of its tensors",
        )?;
        Ok(Self {
            name,
            shape: tensor.shape().to_vec(),
            values: values.into(),
        })
    }

    /// The rows as points.
    pub(crate) fn into_points(self) -> Result<Points<'static>> {
        Points::new(self.values.into_owned(), self.shape[1])
    }
}

/// The bytes of a file of this kind. The same header and tensors give the same bytes.
pub fn write<'t>(
    kind: &str,
    header: &impl Serialize,
    tensors: impl IntoIterator<Item = &'t Tensor<'t>>,
) -> Result<Vec<u8>> {
    let text = serde_json::to_string(&Envelope {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        kind: kind.into(),
        header,
    })
    .map_err(invalid)?;
    let bytes = |tensor: &'t Tensor<'t>| -> (&'t Tensor<'t>, Vec<u8>) {
        let values = tensor.values.iter();
        (tensor, values.flat_map(|v| v.to_le_bytes()).collect())
    };
    let data: Vec<(&Tensor, Vec<u8>)> = tensors.into_iter().map(bytes).collect();
    let views = data
        .iter()
        .map(|(tensor, data)| {
            let view = TensorView::new(Dtype::F64, tensor.shape.clone(), data)?;
            Ok((tensor.name.as_ref(), view))
        })
        .collect::<std::result::Result<Vec<_>, SafeTensorError>>()
        .map_err(invalid)?;
    serialize(views, Some(HashMap::from([(KEY.to_owned(), text)]))).map_err(invalid)
}

/// What a file holds: `ridge`, `features`, `kernel`, `moments`, `checkpoint` or `release`.
pub fn kind_of(bytes: &[u8]) -> Result<String> {
    let Format { format, kind } = serde_json::from_str(&text_of(bytes)?).map_err(invalid)?;
    if format > FORMAT {
        return Err(Error::ModelTooNew {
            found: format,
            known: FORMAT,
        });
    }
    Ok(kind)
}

/// The version of oblivio that wrote a file.
pub fn version_of(bytes: &[u8]) -> Result<String> {
    kind_of(bytes)?;
    let Version { version } = serde_json::from_str(&text_of(bytes)?).map_err(invalid)?;
    Ok(version)
}

/// The header and the tensors of a file of this kind.
pub fn read<'b, H: DeserializeOwned>(bytes: &'b [u8], kind: &str) -> Result<(H, SafeTensors<'b>)> {
    let found = kind_of(bytes)?;
    if found != kind {
        return Err(invalid(format!("it is of kind `{found}`, not `{kind}`")));
    }
    let envelope: Envelope<H> = serde_json::from_str(&text_of(bytes)?).map_err(invalid)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(invalid)?;
    Ok((envelope.header, tensors))
}

fn text_of(bytes: &[u8]) -> Result<String> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| match error {
        // The first eight bytes are the length of a header: in a file of another kind they are any number.
        SafeTensorError::HeaderTooLarge
        | SafeTensorError::HeaderTooSmall
        | SafeTensorError::InvalidHeaderLength
        | SafeTensorError::InvalidHeader(_)
        | SafeTensorError::InvalidHeaderDeserialization(_) => {
            invalid("it is not a file of oblivio's, or is damaged; give one that a fit has written")
        }
        other => invalid(other),
    })?;
    metadata
        .metadata()
        .as_ref()
        .and_then(|entries| entries.get(KEY))
        .cloned()
        .ok_or_else(|| invalid("it is a safetensors file but not one of oblivio's"))
}

pub(crate) fn invalid(problem: impl std::fmt::Display) -> Error {
    Error::InvalidModel {
        problem: problem.to_string(),
    }
}
