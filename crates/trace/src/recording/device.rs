//! What a disk promises to keep when power is cut, and planted faults: promises that it breaks.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Event, Request, SECTOR, Trace};

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

/// A broken promise. [`Fault::LIST`] has their names. The number of a request or of a disk is `None` for each in turn: that is
/// as many devices as there are requests, or disks, [`Device::in_turn`].
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
        write: Option<u32>,
    },
    /// Half a sector may be on the medium.
    TornSectors,
    /// One write goes to another place, in bytes from the start of the disk.
    Misdirect {
        write: Option<u32>,
        to: u64,
    },
    /// One bit of a write is the other one.
    Flip {
        write: Option<u32>,
        bit: u64,
    },
    /// Trimmed ranges hold what was on the disk before it was formatted.
    PoisonTrim,
    /// It says that it has no volatile cache, and has one.
    WriteThrough,
    /// One request, by its number, ends with an I/O error.
    Fail {
        request: Option<u32>,
    },
    /// Of several disks one, counted from 0, is not there any more when the power is back.
    Gone {
        disk: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    Lower,
    Upper,
}

impl Fault {
    /// How each fault is written, and what a disk that has it does.
    pub const LIST: [(&str, &str); 12] = [
        ("i1", "ignores every flush"),
        ("i2", "ignores force unit access (FUA)"),
        ("i3:COUNT", "its flush leaves out the last COUNT writes that completed before it"),
        ("i4:HALF", "its flush does not cover the HALF of the disk that is lower or upper"),
        ("i5:WRITE", "loses the request with the number WRITE, or each in turn, after its reply"),
        ("i6", "tears sectors: 256 bytes are written whole, which is less than disks promise"),
        ("i7:WRITE@OFFSET", "writes the data of request WRITE, or of each in turn, to another OFFSET, in bytes"),
        ("i7:WRITE^BIT", "flips one BIT of the data of request WRITE, or of each in turn"),
        ("i8", "trimmed ranges hold data from before the format"),
        ("i9", "hides its volatile cache: it is sent no flush, and no file system can make anything durable on it"),
        ("i10:REQUEST", "ends the request with the number REQUEST, or each in turn, with an I/O error"),
        (
            "i11:DISK",
            "has several disks, of which the one with the number DISK, counted from 0, or each in turn, is gone after the cut",
        ),
    ];
}

impl Device {
    /// A disk that keeps all promises.
    pub fn honest(unit: Unit) -> Device {
        Device { unit, trims: false, fault: None }
    }

    /// The disks that this stands for in a recording: itself, or one for each request that its fault can be of.
    pub fn in_turn(&self, trace: &Trace) -> Vec<Device> {
        let one = |number: u32, request: &Request| {
            let number = Some(number);
            let length = if let Request::Write { length, .. } = request { *length } else { 0 };
            let fault = match self.fault? {
                Fault::Drop { write: None } if length > 0 => Fault::Drop { write: number },
                Fault::Misdirect { write: None, to } if length > 0 => Fault::Misdirect { write: number, to },
                Fault::Flip { write: None, bit } if bit < length * 8 => Fault::Flip { write: number, bit },
                Fault::Fail { request: None } => Fault::Fail { request: number },
                _ => return None,
            };
            Some(Device { fault: Some(fault), ..*self })
        };
        if !self.fault.is_some_and(Fault::is_in_turn) {
            return vec![*self];
        }
        if let Some(Fault::Gone { disk: None }) = self.fault {
            let gone = |disk| Device { fault: Some(Fault::Gone { disk: Some(disk) }), ..*self };
            return (0..trace.disks.max(1)).map(gone).collect();
        }
        let sent = trace.events.iter().filter_map(|event| match event {
            Event::Sent { number, request } => one(*number, request),
            _ => None,
        });
        sent.collect()
    }

    /// The disk that is gone after the power cut.
    pub fn gone(&self) -> Option<u32> {
        if let Some(Fault::Gone { disk }) = self.fault { disk } else { None }
    }

    /// In bytes: what may be torn off from its neighbours.
    pub fn granule(&self) -> u64 {
        if self.fault == Some(Fault::TornSectors) { SECTOR / 2 } else { SECTOR }
    }
}

impl Fault {
    /// Whether it is of each request, or of each disk, in turn.
    pub fn is_in_turn(self) -> bool {
        let (Fault::Drop { write: number }
        | Fault::Misdirect { write: number, .. }
        | Fault::Flip { write: number, .. }
        | Fault::Fail { request: number }
        | Fault::Gone { disk: number }) = self
        else {
            return false;
        };
        number.is_none()
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
            Fault::Drop { write } => write!(out, "i5:{}", which(*write)),
            Fault::TornSectors => out.write_str("i6"),
            Fault::Misdirect { write, to } => write!(out, "i7:{}@{to}", which(*write)),
            Fault::Flip { write, bit } => write!(out, "i7:{}^{bit}", which(*write)),
            Fault::PoisonTrim => out.write_str("i8"),
            Fault::WriteThrough => out.write_str("i9"),
            Fault::Fail { request } => write!(out, "i10:{}", which(*request)),
            Fault::Gone { disk } => write!(out, "i11:{}", which(*disk)),
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
        ("i5", write) => Fault::Drop { write: number(write)? },
        ("i6", "") => Fault::TornSectors,
        ("i7", rest) => match (rest.split_once('@'), rest.split_once('^')) {
            (Some((write, to)), None) => Fault::Misdirect { write: number(write)?, to: to.parse().ok()? },
            (None, Some((write, bit))) => Fault::Flip { write: number(write)?, bit: bit.parse().ok()? },
            _ => return None,
        },
        ("i8", "") => Fault::PoisonTrim,
        ("i9", "") => Fault::WriteThrough,
        ("i10", request) => Fault::Fail { request: number(request)? },
        ("i11", disk) => Fault::Gone { disk: number(disk)? },
        _ => return None,
    })
}

/// The word for each request in turn.
const EACH: &str = "each";

fn number(text: &str) -> Option<Option<u32>> {
    if text == EACH { Some(None) } else { text.parse().ok().map(Some) }
}

fn which(number: Option<u32>) -> String {
    number.map_or_else(|| EACH.to_owned(), |number| number.to_string())
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
                "sector+trim", "request+trim+i1", "sector+i5:7", "sector+i6", "sector+i7:3@4096", "sector+i7:3^17",
                "request+i8", "request+i9", "sector+i10:12", "sector+i5:each", "sector+i7:each@4096",
                "sector+i7:each^17", "sector+i10:each", "sector+i11:2", "sector+i11:each",
            ])
        {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
        assert_eq!("sector+trim+i8".parse::<Device>(), "sector+i8".parse());
        assert!("sector+i8".parse::<Device>().unwrap().trims && !"sector+i1".parse::<Device>().unwrap().trims);
        for text in ["sector+trim+", "sector+trimi1", "sector+trim+trim", "sector+i1+trim", "trim"] {
            text.parse::<Device>().unwrap_err();
        }
        let no_fault = ["i12", "i11", "i9:1", "i10", "i10:all", "i3", "i1:4", "i7:3@1^2"];
        let wrong = no_fault.map(|fault| format!("sector+{fault}"));
        for text in wrong.iter().map(String::as_str).chain(["", "disk", "sector+", "request+i6"]) {
            text.parse::<Device>().unwrap_err();
        }
    }

    #[test]
    fn a_fault_of_each_request_is_as_many_disks_as_there_are_requests() {
        let write = |length| Request::Write { offset: 0, length, fua: false, data: 0 };
        let sent = [write(4096), Request::Flush, write(512)];
        let events = (0..).zip(sent).map(|(number, request)| Event::Sent { number, request }).collect();
        let trace = Trace { size: 1 << 20, disks: 3, events, data: Vec::new() };
        let disks = |text: &str| -> Vec<String> {
            text.parse::<Device>().unwrap().in_turn(&trace).iter().map(Device::to_string).collect()
        };
        assert_eq!(disks("request+i5:each"), ["request+i5:0", "request+i5:2"]);
        assert_eq!(disks("request+trim+i7:each^5000"), ["request+trim+i7:0^5000"]);
        assert_eq!(disks("request+i10:each"), ["request+i10:0", "request+i10:1", "request+i10:2"]);
        assert_eq!(disks("request+i5:7"), ["request+i5:7"]);
        assert_eq!(disks("sector"), ["sector"]);
        assert_eq!(disks("sector+i11:each"), ["sector+i11:0", "sector+i11:1", "sector+i11:2"]);
    }
}
