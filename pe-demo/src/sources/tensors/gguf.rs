//! Tensors of GGUF files.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Result, anyhow};
use pe_candle::checkpoint::open_regular;
use pe_core::gguf::GgufHeader;

use super::{Float, Tensor, Wanted};

pub(super) fn read(
    path: &Path,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(Tensor) -> Result<()>,
) -> Result<()> {
    let mut file = open_regular(path)?;
    let bytes = file.metadata()?.len();
    let header = GgufHeader::read(std::io::BufReader::new(&mut file), bytes)
        .map_err(|error| anyhow!("{error}"))?;
    for tensor in header.tensors {
        if !wanted.takes(&tensor.name) {
            continue;
        }
        let float = match tensor.kind {
            0 => Some((Float::F32, "F32")),
            1 => Some((Float::F16, "F16")),
            28 => Some((Float::F64, "F64")),
            30 => Some((Float::BF16, "BF16")),
            _ => None,
        };
        let size = |float: Float| tensor.elements.saturating_mul(float.bytes() as u64);
        let entries = match float.filter(|(float, _)| size(*float) <= wanted.most_bytes) {
            Some((float, _)) => {
                file.seek(SeekFrom::Start(tensor.begin))?;
                let mut data = Vec::new();
                (&mut file).take(size(float)).read_to_end(&mut data)?;
                Some(float.read(&data))
            }
            None => None,
        };
        let shape = tensor.shape.iter().map(|side| usize::try_from(*side));
        visit(Tensor {
            name: tensor.name,
            dtype: float.map_or_else(
                || format!("ggml {}", tensor.kind),
                |(_, name)| name.to_owned(),
            ),
            shape: shape.collect::<std::result::Result<_, _>>()?,
            entries,
        })?;
    }
    Ok(())
}
