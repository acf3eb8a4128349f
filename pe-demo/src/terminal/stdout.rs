//! Standard output.

use std::io::{self, ErrorKind, Write};

/// Standard output that remembers whether it failed, and whether its reader has gone away.
///
/// `pe-demo | head -1` closes the pipe early. The write that fails then ends the
/// program, but it is no failure.
pub(crate) struct Stdout<'a> {
    inner: &'a mut dyn Write,
    failed: bool,
    closed: bool,
}

impl<'a> Stdout<'a> {
    pub(crate) fn new(inner: &'a mut dyn Write) -> Self {
        Self {
            inner,
            failed: false,
            closed: false,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.failed |= error.kind() != ErrorKind::Interrupted;
            self.closed |= error.kind() == ErrorKind::BrokenPipe;
        }
        result
    }
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}
