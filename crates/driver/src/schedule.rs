//! Schedules in files of their own: what `dastac tune` finds is kept beside the program, with a fingerprint of it.
//!
//! A fingerprint is of what the program says, not of how it is written: comments and spaces may change.

use std::fmt::Write as _;

use dastac_stur::{Program, parse};

/// What the line with the fingerprint begins with.
const MARK: &str = "# program ";

/// Sixteen hexadecimal digits that other programs do not have.
pub fn fingerprint(program: &Program) -> String {
    let (file, _) = parse(&program.source);
    // FNV-1a, 64 bits: the same in every version and on every machine.
    let hash = file.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The fingerprint in a file of schedules, if it has one.
pub fn recorded(text: &str) -> Option<&str> {
    let mark = text.lines().find_map(|line| line.strip_prefix(MARK));
    mark.and_then(|rest| rest.split_whitespace().next())
}

/// A file of schedules for a program: the `schedule:` line of `scheduled`, if it has one, and the remarks as comments.
pub fn file(program: &Program, scheduled: &Program, remarks: &[String]) -> String {
    let mut text = format!("{MARK}{}\n", fingerprint(program));
    for remark in remarks {
        let _ = writeln!(text, "# {remark}");
    }
    if let Some(line) = scheduled.schedule_line() {
        let _ = writeln!(text, "{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_of_the_meaning() {
        let of = |text: &str| fingerprint(&dastac_stur::load(text).unwrap().0);
        let program = "symbols: N\ny(i) := x(i)\nx:D(i) := (0 <= i < N)";
        assert_eq!(of(program), of(&format!("# a remark\n\n{}", program.replace(" := ", ":="))));
        assert_ne!(of(program), of(&format!("{program}\nschedule: y -> unroll(i=4)")));
        let (program, _) = dastac_stur::load(program).unwrap();
        let text = file(&program, &program, &["found".into()]);
        assert_eq!(recorded(&text), Some(&fingerprint(&program)[..]));
        assert_eq!(recorded("schedule: y -> unroll(i=4)"), None);
        assert!(program.clone().reschedule(&text).is_ok());
    }
}
