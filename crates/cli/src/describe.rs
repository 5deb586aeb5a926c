//! `dastac machine`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use dastac::elements::count;
use dastac::machine::{self, Description, Measurement, Origin};
use dastac::target::file;
use serde::Serialize;

use super::args::DescribeArgs;
use super::described::{self, DETECTED, VARIABLE};
use super::failure::Failure;
use super::output::stdout;
use super::source::reason;
use super::{Outcome, Result, Terminal, folders};

/// What `dastac machine --json` prints.
#[derive(Serialize)]
struct Report<'a> {
    processor: String,
    cores: usize,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_ms: Option<u64>,
    kept_in: Option<String>,
    machine: BTreeMap<&'static str, i64>,
    text: &'a str,
}

/// Shows what is known of this computer.
pub fn show(terminal: &Terminal, args: &DescribeArgs) -> Result<Outcome> {
    let cache = match folders::machines() {
        Some(Ok(cache)) => Some(cache),
        Some(Err(error)) => {
            let note = format!("measurements of machines are not kept: {}", reason(&error));
            terminal.renderer.note(&note);
            None
        }
        None => None,
    };
    let known = match &args.machine {
        Some(path) => described::in_file(path)?,
        None if args.measure => {
            let new = machine::measure().map_err(|error| {
                Failure::Defect(format!("cannot measure this machine: {error}"))
            })?;
            if let Some(cache) = &cache {
                machine::keep(cache, &new);
            }
            new
        }
        None => described::description()?,
    };
    let kept = cache.as_ref().filter(|cache| machine::kept(cache).as_ref() == Some(&known));
    let kept = kept.map(|cache| cache.folder().display().to_string());
    let text = file::print(&known.machine);
    if args.json {
        let report = json(&known, kept, &text);
        let text = serde_json::to_string_pretty(&report);
        let text = text.map_err(|error| Failure::Defect(error.to_string()))? + "\n";
        stdout(text.as_bytes())?;
    } else {
        stdout(format!("{}{text}", heading(&known, kept.as_deref())).as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// Comments above a description.
fn heading(known: &Description, kept: Option<&str>) -> String {
    let mut text = String::new();
    if !matches!(known.origin, Origin::File(_)) {
        let cores = count(machine::cores() as u64, "core");
        let _ = writeln!(text, "# {}, {cores}", machine::processor());
    }
    let _ = writeln!(text, "# {}", origin(known, kept));
    text
}

/// Where a description is from.
fn origin(known: &Description, kept: Option<&str>) -> String {
    match (&known.origin, kept) {
        (Origin::Detected, _) if described::variable().is_some() => {
            format!("detected, not measured: {VARIABLE} is `{DETECTED}`")
        }
        (Origin::Detected, _) => {
            "detected, not measured: there is no cache folder to keep measurements in".to_owned()
        }
        (Origin::File(path), _) => format!("described by {}", path.display()),
        (Origin::Measured(Measurement { at, milliseconds }), kept) => {
            let kept = kept.map_or("not kept".to_owned(), |folder| format!("kept in {folder}"));
            format!("measured {} in {milliseconds} ms, {kept}", moment(*at))
        }
    }
}

fn json<'a>(known: &Description, kept_in: Option<String>, text: &'a str) -> Report<'a> {
    let measurement = match known.origin {
        Origin::Measured(measurement) => Some(measurement),
        Origin::Detected | Origin::File(_) => None,
    };
    Report {
        processor: machine::processor(),
        cores: machine::cores(),
        origin: known.origin.name(),
        file: match &known.origin {
            Origin::File(path) => Some(path.display().to_string()),
            Origin::Detected | Origin::Measured(_) => None,
        },
        measured_at: measurement.map(|known| known.at),
        measured_ms: measurement.map(|known| known.milliseconds),
        kept_in,
        machine: file::numbers(&known.machine).into_iter().collect(),
        text,
    }
}

/// Seconds since 1970 as a date and a time.
fn moment(seconds: u64) -> String {
    let time = Duration::from_secs(seconds);
    let (days, rest) = (time.as_secs() / 86400, time.as_secs() % 86400);
    // Of years that begin in March: the 400 years from 0000-03-01 on are 146097 days.
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + later;
    format!("{year}-{month:02}-{day:02} at {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(moment(0), "1970-01-01 at 00:00 UTC");
        assert_eq!(moment(951_782_399), "2000-02-28 at 23:59 UTC");
        assert_eq!(moment(951_782_400), "2000-02-29 at 00:00 UTC");
        assert_eq!(moment(1_767_225_599), "2025-12-31 at 23:59 UTC");
    }
}
