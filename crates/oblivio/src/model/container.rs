//! The container of every model file: safetensors whose header holds one JSON text.
//!
//! Reading checks everything and runs nothing.

use std::borrow::Cow;
use std::collections::HashMap;

use oblivio_base::{Error, Result};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
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

/// Numbers by name, with their shape.
pub(crate) type Tensor<'a> = (Cow<'static, str>, Vec<usize>, &'a [f64]);

/// Numbers of this name and shape.
pub fn tensor<'a>(
    name: impl Into<Cow<'static, str>>,
    shape: &[usize],
    values: &'a [f64],
) -> Tensor<'a> {
    (name.into(), shape.to_vec(), values)
}

/// The bytes of a file of this kind. The same header and tensors give the same bytes.
pub fn write(kind: &str, header: &impl Serialize, tensors: &[Tensor]) -> Result<Vec<u8>> {
    let text = serde_json::to_string(&Envelope {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        kind: kind.into(),
        header,
    })
    .map_err(invalid)?;
    let data: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|v| v.to_le_bytes()).collect())
        .collect();
    let views = tensors
        .iter()
        .zip(&data)
        .map(|((name, shape, _), data)| {
            Ok((
                name.as_ref(),
                TensorView::new(Dtype::F64, shape.clone(), data)?,
            ))
        })
        .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
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
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(invalid)?;
    metadata
        .metadata()
        .as_ref()
        .and_then(|entries| entries.get(KEY))
        .cloned()
        .ok_or_else(|| invalid("it is a safetensors file but not one of oblivio's"))
}

/// A tensor of finite numbers and its shape.
pub fn numbers(
    tensors: &SafeTensors,
    name: &str,
    dimensions: usize,
) -> Result<(Vec<f64>, Vec<usize>)> {
    let tensor = tensors.tensor(name).map_err(invalid)?;
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
    Ok((values, tensor.shape().to_vec()))
}

/// Refuses a file of which something does not hold.
pub fn require(holds: bool, what: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(invalid(format!("{what} makes no sense")))
    }
}

pub(crate) fn invalid(problem: impl std::fmt::Display) -> Error {
    Error::InvalidModel {
        problem: problem.to_string(),
    }
}
