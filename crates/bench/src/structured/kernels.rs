//! The fixed list of kernels: programs with sizes, in a file.

use super::names::{PREFIX, UNIT};
use crate::job::Job;
use crate::scope::Scope;

/// Programs, each behind a line `#: name | title | values of symbols | smaller values`, at which it is checked.
const TEXT: &str = include_str!("kernels.stur");

/// A kernel of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// Values of its symbols.
    pub symbols: Vec<(String, i64)>,
    /// Values at which it is compared with the dense evaluator.
    pub check: Vec<(String, i64)>,
    /// The program.
    pub source: &'static str,
}

/// All kernels, in the order of the file. The first one is the dense matrix product.
pub fn all() -> Vec<Kernel> {
    TEXT.split("#: ").skip(1).filter_map(kernel).collect()
}

fn kernel(text: &'static str) -> Option<Kernel> {
    let (heading, source) = text.split_once('\n')?;
    let mut fields = heading.split('|').map(str::trim);
    let (name, title) = (fields.next()?, fields.next()?);
    let (symbols, check) = (values(fields.next()?)?, values(fields.next()?)?);
    Some(Kernel { name, title, symbols, check, source: source.trim_end() })
}

/// `N = 3, M = 4`.
fn values(text: &str) -> Option<Vec<(String, i64)>> {
    let value = |part: &str| {
        let (name, value) = part.split_once('=')?;
        Some((name.trim().to_string(), value.trim().parse().ok()?))
    };
    text.split(',').map(value).collect()
}

/// The dense matrix product.
pub(super) fn unit(scope: &Scope) -> Job {
    let first = all().into_iter().next();
    let job = first.map(|kernel| job(scope, kernel));
    job.unwrap_or_else(|| scope.program(UNIT, 0, String::new(), &["dastac"]))
}

/// All others.
pub(super) fn jobs(scope: &Scope) -> Vec<Job> {
    let kernels = all().into_iter().skip(1).map(|kernel| job(scope, kernel));
    kernels.filter(|job| scope.has(&job.kernel)).collect()
}

fn job(scope: &Scope, kernel: Kernel) -> Job {
    let capped = |(name, value): (String, i64)| {
        (name, scope.size.map_or(value, |size| value.min(size.max(1))))
    };
    let symbols: Vec<(String, i64)> = kernel.symbols.into_iter().map(capped).collect();
    let largest = symbols.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let name = format!("{PREFIX}{}", kernel.name);
    Job {
        title: kernel.title.into(),
        symbols,
        checks: vec![kernel.check],
        ..scope.program(&name, largest, kernel.source.into(), &["dastac", "mkl", "openblas"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_programs() {
        let kernels = all();
        assert_eq!(format!("{PREFIX}{}", kernels[0].name), UNIT);
        assert_eq!(kernels.len(), TEXT.matches("\n#: ").count() + 1);
        for kernel in &kernels {
            let (program, _) = dastac_stur::load(kernel.source)
                .unwrap_or_else(|found| panic!("{}: {}", kernel.name, found[0].message));
            let declared: Vec<&str> = program.symbols.iter().map(|(name, _)| &name[..]).collect();
            for values in [&kernel.symbols, &kernel.check] {
                let given: Vec<&str> = values.iter().map(|(name, _)| &name[..]).collect();
                assert_eq!(declared, given, "{}", kernel.name);
            }
            let same = kernels.iter().filter(|other| other.name == kernel.name);
            assert_eq!(same.count(), 1, "{}", kernel.name);
        }
    }
}
