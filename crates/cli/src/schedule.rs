//! Which schedules a program gets: its own, those of a file, or none.
//!
//! What is asked for with `--schedule` comes first, then what `dastac tune` left beside the program, then the program's
//! own line.

use std::path::{Path, PathBuf};

use dastac::driver::Analysis;
use dastac::schedule::{fingerprint, recorded};
use dastac::stur::Program;

use super::args::ScheduleArgs;
use super::check::analyse;
use super::failure::Failure;
use super::output::same_file;
use super::progress::Progress;
use super::source::Source;
use super::{Result, Terminal};

/// Where `dastac tune` leaves what it found, and where it is looked for: beside the program.
pub fn beside(source: &Source) -> Option<PathBuf> {
    let path = source.path.with_extension("schedule");
    (source.path != Path::new("-") && path != source.path).then_some(path)
}

/// Reads and checks a program, and gives it the schedules that it is to have.
pub fn scheduled(
    terminal: &Terminal,
    source: &Source,
    args: &ScheduleArgs,
    progress: &Progress,
) -> Result<Analysis> {
    let mut analysis = analyse(terminal, source, progress)?;
    schedule(terminal, source, args, &mut analysis.inferred.program)?;
    Ok(analysis)
}

/// Gives a program the schedules that it is to have.
pub fn schedule(
    terminal: &Terminal,
    source: &Source,
    args: &ScheduleArgs,
    program: &mut Program,
) -> Result<()> {
    let failed =
        |diagnostics, file: &Source| Failure::of(dastac::Error::Program(diagnostics), file);
    if args.no_schedule {
        for rule in &mut program.rules {
            rule.schedule = Default::default();
        }
    } else if let Some(path) = &args.schedule {
        if same_file(path, &source.path) {
            return Err(Failure::usage("the program cannot be its own file of schedules")
                .hint("its `schedule:` line holds without `--schedule`"));
        }
        let file = Source::read(path)?;
        program.reschedule(&file.text).map_err(|found| failed(found, &file))?;
    } else if let Some(path) = beside(source).filter(|path| path.is_file()) {
        let file = Source::read(&path)?;
        if recorded(&file.text) == Some(&fingerprint(program)) {
            program.reschedule(&file.text).map_err(|found| failed(found, &file))?;
        } else {
            let (found, name) = (path.display(), &source.name);
            terminal.renderer.warning(
                &format!("`{found}` is ignored: it was not found for this program"),
                &format!(
                    "`dastac tune {name} ..` searches again; `--schedule {found}` takes it all the same"
                ),
            );
        }
    }
    Ok(())
}
