//! The battery: whether the machine runs on it, and how much is left. Read when there is work that could wait, never
//! while the daemon rests.

use std::path::Path;

/// Below this, in percent, work in bulk waits for mains.
pub const BULK_WAITS: u8 = 50;

/// Below this, in percent, all work except saves waits.
pub const ALL_WAITS: u8 = 20;

/// Where the power comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// Whether the machine runs on battery; one that does not say so is on mains.
    pub on_battery: bool,
    /// The charge of the battery in percent, if the machine runs on it.
    pub percent: Option<u8>,
}

/// What work has to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Brake {
    /// None.
    #[default]
    Off,
    /// Work that could be done another day: making notes, contexts or vectors anew.
    Bulk,
    /// All work except saves.
    All,
}

impl Supply {
    /// What has to wait.
    pub fn brake(self) -> Brake {
        match self.percent {
            _ if !self.on_battery => Brake::Off,
            Some(percent) if percent < ALL_WAITS => Brake::All,
            Some(percent) if percent < BULK_WAITS => Brake::Bulk,
            _ => Brake::Off,
        }
    }
}

/// Reads the folder `supplies` (such as `/sys/class/power_supply`); mains if it says nothing.
pub fn supply(supplies: &Path) -> Supply {
    let Ok(entries) = std::fs::read_dir(supplies) else { return Supply::default() };
    let (mut plugged, mut discharging, mut left) = (false, false, Vec::new());
    for entry in entries.flatten() {
        let read = |name: &str| {
            let text = std::fs::read_to_string(entry.path().join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        // A mouse or a pen has a battery of its own.
        if read("scope").is_some_and(|scope| scope == "Device") {
            continue;
        }
        match read("type").as_deref() {
            Some("Battery") => {
                discharging |= read("status").is_some_and(|status| status == "Discharging");
                left.extend(read("capacity").and_then(|percent| percent.parse::<u8>().ok()));
            }
            // Mains, USB, Wireless.
            Some(_) => plugged |= read("online").is_some_and(|online| online != "0"),
            None => {}
        }
    }
    // A charger that is plugged in may be too weak, and one battery of two may discharge into the other.
    let on_battery = discharging && !plugged;
    // The sum of several batteries would need their sizes; the fullest one keeps the machine up.
    Supply { on_battery, percent: left.into_iter().max().filter(|_| on_battery) }
}

#[cfg(test)]
mod tests;
