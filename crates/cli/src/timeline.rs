//! What cores inside of memory did over time, as a picture: a row for each core, program after program.

use std::fmt::Write;
use std::path::Path;

use dastac::runtime::Code;
use dastac::runtime::pim::{Counters, LaunchReport, Report};

use super::failure::Failure;
use super::{Result, output};

/// What a core does in a part of the time: a name, a colour, and how many cycles it has of that.
type Cause = (&'static str, &'static str, fn(&Counters) -> u64);

const CAUSES: [Cause; 5] = [
    ("instructions", "#2b9a66", |one| one.issue),
    ("scratchpad", "#8fc75a", |one| one.scratchpad),
    ("memory", "#e5484d", |one| one.memory),
    ("pipeline not full", "#d9a13b", |one| one.pipeline),
    ("waiting for threads", "#7d6bd8", |one| one.waiting),
];

/// The width of all programs together.
const WIDTH: f64 = 960.0;
/// Parts that this width is cut into, of a machine with few cores: each has the colour of what it mostly is.
const PARTS: usize = 480;
/// Beside, above and below rows.
const MARGIN: f64 = 44.0;
/// The height of all rows together is about this.
const HEIGHT: f64 = 480.0;

/// Has the next runs be recorded.
///
/// # Errors
/// Code for something else than cores inside of memory.
pub fn watch(code: &Code) -> Result<()> {
    match code.watch() {
        true => Ok(()),
        false => Err(Failure::usage("only cores inside of memory have a timeline")
            .hint("`--timeline` goes with `--target pim`")),
    }
}

/// Writes the picture of a run.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, report: Option<&Report>) -> Result<()> {
    let text = report.map(svg).unwrap_or_default();
    output::file(path, &mut |out| out.write_all(text.as_bytes()))
}

/// The picture: time goes to the right, in cycles.
#[allow(clippy::cast_precision_loss, reason = "places in a picture")]
pub fn svg(report: &Report) -> String {
    let all: u64 = report.launches.iter().map(|one| one.counters.cycles).sum();
    let rows = report.launches.iter().map(|one| one.per_core.len()).max().unwrap_or(0).max(1);
    let height = (HEIGHT / rows as f64).clamp(0.5, 18.0);
    let parts = if rows > 256 { PARTS / 2 } else { PARTS };
    let bottom = MARGIN + rows as f64 * height;
    let (wide, tall) = (WIDTH + 2.0 * MARGIN, bottom + 1.6 * MARGIN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {tall:.0}\" width=\"{wide:.0}\" \
         height=\"{tall:.0}\" font-family=\"system-ui,sans-serif\" font-size=\"11\">\n\
         <style>text{{fill:#1c2024}}.paper{{fill:#fff}}.idle{{fill:#e4e6ea}}\
         @media(prefers-color-scheme:dark){{text{{fill:#eceef0}}.paper{{fill:#16181b}}.idle{{fill:#33383f}}}}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
    );
    let mut x = MARGIN;
    for launch in &report.launches {
        let share = launch.counters.cycles as f64 / all.max(1) as f64;
        let place = Place { x, width: share * WIDTH, height };
        let count = ((share * parts as f64).round() as usize).max(1);
        program(&mut text, launch, place, count);
        x += place.width;
    }
    let _ = write!(text, "<text x=\"{MARGIN}\" y=\"{:.1}\">0</text>", bottom + 14.0);
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{all} cycles</text>",
        MARGIN + WIDTH,
        bottom + 14.0
    );
    legend(&mut text, report, bottom + 36.0);
    text + "</svg>\n"
}

/// Where a program's rows stand.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    width: f64,
    height: f64,
}

#[allow(clippy::cast_precision_loss, reason = "places in a picture")]
fn program(text: &mut String, launch: &LaunchReport, place: Place, parts: usize) {
    let Place { x, width, height } = place;
    let (name, cycles) = (&launch.program, launch.counters.cycles);
    let rows = launch.per_core.len() as f64 * height;
    // Names are identifiers.
    let _ = writeln!(
        text,
        "<g><title>{name}: {cycles} cycles on {} cores, imbalance {:.2}</title>\
         <rect class=\"idle\" x=\"{x:.1}\" y=\"{MARGIN}\" width=\"{width:.2}\" height=\"{rows:.2}\"/>",
        launch.cores, launch.imbalance
    );
    if width > 6.0 * name.len() as f64 {
        let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{:.1}\">{name}</text>", MARGIN - 8.0);
    }
    let mut paths = vec![String::new(); CAUSES.len()];
    let part = width / parts as f64;
    for (row, (core, timeline)) in launch.per_core.iter().zip(&launch.timeline).enumerate() {
        let y = MARGIN + (row as f64 + 0.5) * height;
        let causes = causes(core, timeline, cycles, parts);
        let mut at = 0;
        while let Some(cause) = causes.get(at) {
            let run = causes[at..].iter().take_while(|other| *other == cause).count();
            if let Some(cause) = cause {
                let (from, long) = (x + at as f64 * part, run as f64 * part);
                let _ = write!(paths[*cause], "M{from:.1} {y:.2}h{long:.2}");
            }
            at += run;
        }
    }
    // Rows that are high enough have gaps between them.
    let stroke = if height > 4.0 { height - 1.0 } else { height };
    for ((_, colour, _), path) in CAUSES.iter().zip(paths).filter(|(_, path)| !path.is_empty()) {
        let _ = writeln!(
            text,
            "<path stroke=\"{colour}\" stroke-width=\"{stroke:.2}\" fill=\"none\" d=\"{path}\"/>"
        );
    }
    text.push_str("</g>\n");
}

/// What a core mostly does in each part of a program's time; nothing where it has ended.
fn causes(core: &Counters, timeline: &[Counters], cycles: u64, parts: usize) -> Vec<Option<usize>> {
    let mut points = timeline.iter().chain([core]);
    let (mut before, mut after) = (Counters::default(), points.next());
    let end = |part: usize| cycles * (part as u64 + 1) / parts as u64;
    (0..parts)
        .map(|part| {
            // The interval between two points that has the middle of the part.
            let middle = end(part) - cycles / (2 * parts as u64);
            while let Some(point) = after.filter(|point| point.cycles < middle) {
                before = point.clone();
                after = points.next();
            }
            let point = after?;
            let spent = |(.., of): &Cause| of(point).saturating_sub(of(&before));
            (0..CAUSES.len()).max_by_key(|at| (spent(&CAUSES[*at]), CAUSES.len() - at))
        })
        .collect()
}

/// Colours, with the part of all cycles of all cores that each is.
#[allow(clippy::cast_precision_loss, reason = "parts are shown, not computed with")]
fn legend(text: &mut String, report: &Report, y: f64) {
    let cores = || report.launches.iter().flat_map(|launch| &launch.per_core);
    let all: u64 = cores().map(|core| core.cycles).sum();
    for (at, (name, colour, of)) in CAUSES.iter().enumerate() {
        let part = cores().map(of).sum::<u64>() as f64 / all.max(1) as f64;
        let x = MARGIN + at as f64 * WIDTH / CAUSES.len() as f64;
        let _ = writeln!(
            text,
            "<rect fill=\"{colour}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\"/>\
             <text x=\"{:.1}\" y=\"{y:.1}\">{name} {:.0}%</text>",
            y - 9.0,
            x + 14.0,
            100.0 * part
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_cause_that_they_mostly_are() {
        let at = |cycles, issue, memory| Counters { cycles, issue, memory, ..Counters::default() };
        let core = at(60, 25, 35);
        let found = causes(&core, &[at(20, 20, 0), at(40, 20, 20)], 80, 8);
        let (busy, memory) = (Some(0), Some(2));
        assert_eq!(found, [busy, busy, memory, memory, memory, memory, None, None]);
    }
}
