//! Values that can be saved.

use std::io::{self, Write};

use candle_core::{Device, Result, Storage, Tensor, WithDType, bail};
use pe_core::{CosSin, Element, Table};

use super::file::element::{encode, with_element};

/// Bytes converted at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Tables to save: a tensor or an array of tensors, a [`Table`] or [`CosSin`] of pe-core.
pub trait Values: Sealed {
    /// Lists the tables in the order of the scheme.
    #[doc(hidden)]
    fn views(&self) -> Result<Vec<View<'_>>>;
}

/// Writer of the entries of a table.
type Entries<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

/// A table to save.
#[doc(hidden)]
pub struct View<'a> {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: &'static str,
    /// Writes the entries as little-endian bytes.
    pub(crate) write: Entries<'a>,
}

/// Keeps the list of types in this crate.
pub trait Sealed {}

impl Sealed for Tensor {}

impl Values for Tensor {
    fn views(&self) -> Result<Vec<View<'_>>> {
        // Neither copies a contiguous tensor on the CPU.
        let table = self.to_device(&Device::Cpu)?.contiguous()?;
        let (shape, dtype) = (table.dims().to_vec(), table.dtype());
        let write: Entries<'_> = Box::new(move |out| {
            with_element!(dtype, T => write_tensor::<T>(&table, out)).map_err(io::Error::other)
        });
        let dtype = dtype.as_str();
        Ok(vec![View {
            shape,
            dtype,
            write,
        }])
    }
}

fn write_tensor<T: Element + WithDType>(table: &Tensor, out: &mut dyn Write) -> Result<()> {
    let (storage, layout) = table.storage_and_layout();
    let entries = match (&*storage, layout.contiguous_offsets()) {
        (Storage::Cpu(storage), Some((begin, end))) => storage.as_slice::<T>()?.get(begin..end),
        _ => None,
    };
    let Some(entries) = entries else {
        bail!("the tensor could not be brought to the CPU");
    };
    Ok(write_entries(entries, out)?)
}

impl<const N: usize> Sealed for [&Tensor; N] {}

impl<const N: usize> Values for [&Tensor; N] {
    fn views(&self) -> Result<Vec<View<'_>>> {
        let views = self.iter().map(|tensor| tensor.views());
        Ok(views
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }
}

impl<T: Element> Sealed for Table<T> {}

impl<T: Element> Values for Table<T> {
    fn views(&self) -> Result<Vec<View<'_>>> {
        Ok(vec![View {
            shape: vec![self.rows(), self.width()],
            dtype: T::NAME,
            write: Box::new(|out| write_entries(self.as_slice(), out)),
        }])
    }
}

impl<T: Element> Sealed for CosSin<T> {}

impl<T: Element> Values for CosSin<T> {
    fn views(&self) -> Result<Vec<View<'_>>> {
        let tables = [&self.cos, &self.sin].map(Values::views);
        let [cos, sin] = tables;
        Ok(cos?.into_iter().chain(sin?).collect())
    }
}

fn write_entries<T: Element>(entries: &[T], out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK_BYTES);
    for block in entries.chunks(const { BLOCK_BYTES / size_of::<T>() }) {
        bytes.clear();
        encode(block, &mut bytes);
        out.write_all(&bytes)?;
    }
    Ok(())
}
