//! The device of the toy encoder.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use candle_core::Device;
use candle_core::utils::{cuda_is_available, metal_is_available};

/// A device by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DeviceName {
    /// `cpu`
    #[default]
    Cpu,
    /// `cuda`, `cuda:N`
    Cuda(usize),
    /// `metal`
    Metal,
}

impl DeviceName {
    /// Opens the device.
    ///
    /// # Errors
    /// Returns an error if this program was built without the device's feature, or if the machine has
    /// no such device.
    pub(crate) fn open(self) -> Result<Device> {
        let (built, feature) = match self {
            Self::Cpu => return Ok(Device::Cpu),
            Self::Cuda(_) => (cuda_is_available(), "cuda"),
            Self::Metal => (metal_is_available(), "metal"),
        };
        if !built {
            bail!(
                "--device {self}: this program was built without it; build it with \
                 `--features {feature}`"
            );
        }
        let device = match self {
            Self::Cuda(ordinal) => Device::new_cuda(ordinal),
            Self::Cpu | Self::Metal => Device::new_metal(0),
        };
        device.with_context(|| format!("--device {self}"))
    }
}

impl FromStr for DeviceName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "metal" => Ok(Self::Metal),
            _ => text
                .strip_prefix("cuda:")
                // No sign, no blank.
                .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|number| number.parse().ok())
                .map(Self::Cuda)
                .ok_or("known: cpu, cuda, cuda:N with an integer N, metal"),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Metal => f.write_str("metal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["cpu", "cuda:0", "cuda:17", "metal"] {
            let parsed = name.parse::<DeviceName>().map(|device| device.to_string());
            assert_eq!(parsed.as_deref(), Ok(name));
        }
        assert_eq!("cuda".parse(), Ok(DeviceName::Cuda(0)));
        for bad in [
            "", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "CPU", "metal:0",
        ] {
            assert!(bad.parse::<DeviceName>().is_err(), "{bad}");
        }
        let huge = "cuda:99999999999999999999999";
        assert!(huge.parse::<DeviceName>().is_err());
    }
}
