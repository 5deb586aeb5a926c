//! Which computer this is.

use dastac_target::file;

use super::description::Description;

/// The processor's name, as Linux tells it.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    named(&text)
}

/// The first processor of a text such as `/proc/cpuinfo`.
fn named(text: &str) -> String {
    let field = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    let name = field("model name").unwrap_or_else(|| "unknown processor".to_owned());
    match (field("cpu family"), field("model"), field("stepping")) {
        (Some(family), Some(model), Some(stepping)) => {
            format!("{name} (family {family}, model {model}, stepping {stepping})")
        }
        _ => name,
    }
}

/// How many CPUs this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A text that computers share only if what is measured on one holds on the other.
pub(super) fn identity() -> String {
    let detected = file::print(&Description::detected().machine);
    format!("{}\n{} CPUs\n{detected}", processor(), cores())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_names() {
        let text = "processor\t: 0\nvendor_id\t: A\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\
                    stepping\t: 1\n\nprocessor\t: 1\nmodel name\t: other\n";
        assert_eq!(named(text), "AMD EPYC (family 25, model 17, stepping 1)");
        assert_eq!(named("Features : fp\n"), "unknown processor");
    }
}
