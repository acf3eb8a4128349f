//! Tensors of safetensors files.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Result, ensure};
use pe_candle::checkpoint::open_regular;
use safetensors::Dtype;
use safetensors::tensor::Metadata;

use super::{Float, Tensor, Wanted};

/// Largest header, that of the format's own reader.
const MOST_HEADER: u64 = 100_000_000;

pub(super) fn read(
    path: &Path,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(Tensor) -> Result<()>,
) -> Result<()> {
    let mut file = open_regular(path)?;
    let bytes = file.metadata()?.len();
    let mut prefix = [0; 8];
    ensure!(
        bytes >= 8,
        "the file has {bytes} bytes, too few for a safetensors header"
    );
    file.read_exact(&mut prefix)?;
    let length = u64::from_le_bytes(prefix);
    ensure!(
        length <= MOST_HEADER.min(bytes - 8),
        "not a safetensors, .npy, .npz, .csv, or GGUF file"
    );
    let mut header = Vec::new();
    (&mut file).take(length).read_to_end(&mut header)?;
    let metadata: Metadata = serde_json::from_slice(&header)?;
    let begin = 8 + length;
    let mut tensors: Vec<_> = metadata.tensors().into_iter().collect();
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    for (name, info) in tensors {
        if !wanted.takes(&name) {
            continue;
        }
        let (from, to) = info.data_offsets;
        let size = to.saturating_sub(from) as u64;
        ensure!(
            begin + to as u64 <= bytes,
            "the tensor \"{}\" ends behind the file",
            name.escape_debug()
        );
        let float = match info.dtype {
            Dtype::F32 => Some(Float::F32),
            Dtype::F64 => Some(Float::F64),
            Dtype::F16 => Some(Float::F16),
            Dtype::BF16 => Some(Float::BF16),
            _ => None,
        };
        let entries = match float.filter(|_| size <= wanted.most_bytes) {
            Some(float) => {
                file.seek(SeekFrom::Start(begin + from as u64))?;
                let mut data = Vec::new();
                (&mut file).take(size).read_to_end(&mut data)?;
                Some(float.read(&data))
            }
            None => None,
        };
        visit(Tensor {
            name,
            dtype: info.dtype.to_string(),
            shape: info.shape.clone(),
            entries,
        })?;
    }
    Ok(())
}
