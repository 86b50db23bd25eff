//! What a disk promises to keep when power is cut, and planted faults: promises that it breaks.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::trace::SECTOR;

/// A disk with a volatile write cache. It is written as its unit, with `trim` and its fault behind pluses: `sector`,
/// `request+trim`, `sector+i3:4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Device {
    pub unit: Unit,
    /// Whether it offers trims and requests for zeros. One whose fault is of trims does.
    pub trims: bool,
    pub fault: Option<Fault>,
}

/// What is on the medium whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A request with all its data: more than any disk promises, and what most do most of the time.
    Request,
    /// A sector: what the kernel may rely on.
    Sector,
}

/// A broken promise. [`Fault::LIST`] has their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    IgnoreFlush,
    IgnoreFua,
    /// A flush leaves out the last writes that completed before it.
    LateFlush {
        last: u32,
    },
    /// A flush does not cover what reaches into one half of the disk.
    HalfFlush {
        lost: Half,
    },
    /// One write, by the number of its request, is neither durable nor visible.
    Drop {
        write: u32,
    },
    /// Half a sector may be on the medium.
    TornSectors,
    /// One write goes to another place, in bytes from the start of the disk.
    Misdirect {
        write: u32,
        to: u64,
    },
    /// One bit of a write is the other one.
    Flip {
        write: u32,
        bit: u64,
    },
    /// Trimmed ranges hold what was on the disk before it was formatted.
    PoisonTrim,
    /// It says that it has no volatile cache, and has one.
    WriteThrough,
    /// One request, by its number, ends with an I/O error.
    Fail {
        request: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    Lower,
    Upper,
}

impl Fault {
    /// How each fault is written, and what a disk that has it does.
    pub const LIST: [(&str, &str); 11] = [
        ("i1", "ignores every flush"),
        ("i2", "ignores force unit access (FUA)"),
        ("i3:COUNT", "its flush leaves out the last COUNT writes that completed before it"),
        ("i4:HALF", "its flush does not cover the HALF of the disk that is lower or upper"),
        ("i5:WRITE", "loses the request with the number WRITE, after its reply"),
        ("i6", "tears sectors: 256 bytes are written whole, which is less than disks promise"),
        ("i7:WRITE@OFFSET", "writes the data of request WRITE to another OFFSET, in bytes"),
        ("i7:WRITE^BIT", "flips one BIT of the data of request WRITE"),
        ("i8", "trimmed ranges hold data from before the format"),
        ("i9", "hides its volatile cache: it is sent no flush, and no file system can make anything durable on it"),
        ("i10:REQUEST", "ends the request with the number REQUEST with an I/O error"),
    ];
}

impl Device {
    /// A disk that keeps all promises.
    pub fn honest(unit: Unit) -> Device {
        Device { unit, trims: false, fault: None }
    }

    /// In bytes: what may be torn off from its neighbours.
    pub(super) fn granule(&self) -> u64 {
        if self.fault == Some(Fault::TornSectors) { SECTOR / 2 } else { SECTOR }
    }
}

impl Display for Device {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self.unit {
            Unit::Request => "request",
            Unit::Sector => "sector",
        })?;
        if self.trims && self.fault != Some(Fault::PoisonTrim) {
            out.write_str("+trim")?;
        }
        self.fault.map_or(Ok(()), |fault| write!(out, "+{fault}"))
    }
}

impl Display for Fault {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Fault::IgnoreFlush => out.write_str("i1"),
            Fault::IgnoreFua => out.write_str("i2"),
            Fault::LateFlush { last } => write!(out, "i3:{last}"),
            Fault::HalfFlush { lost: Half::Lower } => out.write_str("i4:lower"),
            Fault::HalfFlush { lost: Half::Upper } => out.write_str("i4:upper"),
            Fault::Drop { write } => write!(out, "i5:{write}"),
            Fault::TornSectors => out.write_str("i6"),
            Fault::Misdirect { write, to } => write!(out, "i7:{write}@{to}"),
            Fault::Flip { write, bit } => write!(out, "i7:{write}^{bit}"),
            Fault::PoisonTrim => out.write_str("i8"),
            Fault::WriteThrough => out.write_str("i9"),
            Fault::Fail { request } => write!(out, "i10:{request}"),
        }
    }
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnknownDevice {
    #[error(
        "a device is `request` or `sector`, and may have trim and a fault behind pluses, such as `sector+trim+i1`; `{0}` is \
         neither"
    )]
    Unit(String),
    #[error("`{0}` is no fault of a device; there are {forms}", forms = Fault::LIST.map(|(form, _)| form).join(", "))]
    Fault(String),
    #[error("i6 tears sectors, and a device that writes requests whole has none torn; `sector+i6` is meant")]
    NothingTorn,
}

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Device, UnknownDevice> {
        let (unit, rest) = text.split_once('+').map_or((text, None), |(unit, rest)| (unit, Some(rest)));
        let (trims, fault) = match rest.and_then(|rest| rest.strip_prefix("trim")) {
            Some("") => (true, None),
            Some(after) => (true, after.strip_prefix('+').or(rest)),
            None => (false, rest),
        };
        let unit = match unit {
            "request" => Unit::Request,
            "sector" => Unit::Sector,
            _ => return Err(UnknownDevice::Unit(text.to_owned())),
        };
        let fault = fault.map(Fault::from_str).transpose()?;
        if unit == Unit::Request && fault == Some(Fault::TornSectors) {
            return Err(UnknownDevice::NothingTorn);
        }
        Ok(Device { unit, trims: trims || fault == Some(Fault::PoisonTrim), fault })
    }
}

impl FromStr for Fault {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Fault, UnknownDevice> {
        parse(text).ok_or_else(|| UnknownDevice::Fault(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Fault> {
    let (name, rest) = text.split_once(':').map_or((text, ""), |(name, rest)| (name, rest));
    Some(match (name, rest) {
        ("i1", "") => Fault::IgnoreFlush,
        ("i2", "") => Fault::IgnoreFua,
        ("i3", last) => Fault::LateFlush { last: last.parse().ok()? },
        ("i4", "lower") => Fault::HalfFlush { lost: Half::Lower },
        ("i4", "upper") => Fault::HalfFlush { lost: Half::Upper },
        ("i5", write) => Fault::Drop { write: write.parse().ok()? },
        ("i6", "") => Fault::TornSectors,
        ("i7", rest) => match (rest.split_once('@'), rest.split_once('^')) {
            (Some((write, to)), None) => Fault::Misdirect { write: write.parse().ok()?, to: to.parse().ok()? },
            (None, Some((write, bit))) => Fault::Flip { write: write.parse().ok()?, bit: bit.parse().ok()? },
            _ => return None,
        },
        ("i8", "") => Fault::PoisonTrim,
        ("i9", "") => Fault::WriteThrough,
        ("i10", request) => Fault::Fail { request: request.parse().ok()? },
        _ => return None,
    })
}

impl TryFrom<String> for Device {
    type Error = UnknownDevice;

    fn try_from(text: String) -> Result<Device, UnknownDevice> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> String {
        device.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_written_as_they_are_read() {
        for text in ["request", "sector+i1", "sector+i2", "request+i3:4", "sector+i4:lower", "sector+i4:upper"]
            .into_iter()
            .chain([
                "sector+trim",
                "request+trim+i1",
                "sector+i5:7",
                "sector+i6",
                "sector+i7:3@4096",
                "sector+i7:3^17",
                "request+i8",
                "request+i9",
                "sector+i10:12",
            ])
        {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
        assert_eq!("sector+trim+i8".parse::<Device>(), "sector+i8".parse());
        assert!("sector+i8".parse::<Device>().unwrap().trims && !"sector+i1".parse::<Device>().unwrap().trims);
        for text in ["sector+trim+", "sector+trimi1", "sector+trim+trim", "sector+i1+trim", "trim"] {
            text.parse::<Device>().unwrap_err();
        }
        for text in [
            "",
            "disk",
            "sector+",
            "sector+i11",
            "sector+i9:1",
            "sector+i10",
            "sector+i3",
            "sector+i1:4",
            "sector+i7:3@1^2",
            "request+i6",
        ] {
            text.parse::<Device>().unwrap_err();
        }
    }
}
