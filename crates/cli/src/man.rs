//! `dastac man`.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::args::Cli;
use super::failure::Failure;
use super::source::reason;
use super::{Outcome, Result, output};

/// Writes a page for each command, or prints that of the whole.
pub fn man(folder: Option<&Path>) -> Result<Outcome> {
    let mut all = Cli::command();
    all.build();
    let Some(folder) = folder else {
        output::stdout(&page(all)?)?;
        return Ok(Outcome::Done);
    };
    if !folder.is_dir() {
        return Err(Failure::user(format!("there is no folder `{}`", folder.display())));
    }
    let pages = std::iter::once(&all).chain(all.get_subcommands());
    let mut count = 0;
    for command in pages.filter(|command| command.get_name() != "help") {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = folder.join(format!("{name}.1"));
        let page = page(command.clone())?;
        output::file(&path, &mut |out| out.write_all(&page))?;
        count += 1;
    }
    let text = format!("{}: {}\n", folder.display(), dastac::elements::count(count, "page"));
    output::stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

fn page(command: Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let written = Man::new(command).render(&mut page);
    written.map_err(|error| Failure::Defect(reason(&error)))?;
    Ok(page)
}
