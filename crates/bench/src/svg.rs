//! Figures as SVG: panels in a grid under a legend. Colours are classes, so that a page around them, or the style
//! inside of the file, chooses them.

use std::fmt::Write;

use super::charts::{Axis, Chart, Key, Panel};

/// Colours, for light and dark surroundings.
pub const STYLE: &str = "\
.chart{--ink:#1c2024;--faint:#60646c;--grid:#e4e6ea;--c-dastac:#e5484d;--c-untiled:#f0a3a5;--c-inputs:#b58fd6;\
--c-dense:#a3a8b0;\
 --c-small:#c98a3c;\
--c-large:#7d6bd8;--c-c-packed:#3b7dd8;--c-c-inputs:#68b0e8;--c-c-dense:#9fb4c8;--c-mkl:#2b9a66;--c-openblas:#8fc75a;\
 --c-numpy:#d08a12;\
--c-torch:#d6409f;--c-taco:#12a594;font-family:system-ui,-apple-system,'Segoe UI',sans-serif}
@media(prefers-color-scheme:dark){.chart{--ink:#eceef0;--faint:#9ba1a9;--grid:#33383f;--c-dastac:#ff6369;\
--c-untiled:#a85a5e;\
 --c-inputs:#a37fc6;\
--c-dense:#7a828c;--c-small:#d99b4d;--c-large:#9a8cf0;--c-c-packed:#5b9bf0;--c-c-inputs:#75bdf2;--c-c-dense:#7d93a8;\
--c-mkl:#3dd68c;\
 --c-openblas:#a4d96c;\
--c-numpy:#ffb224;--c-torch:#f065b8;--c-taco:#0ac5b3}}
.chart text{fill:var(--ink);font-size:11px}.chart .faint{fill:var(--faint);font-size:10px}.chart .title{font-weight:600;font-size:12px}
.chart .grid{stroke:var(--grid);stroke-width:1;fill:none}.chart .axis{stroke:var(--faint);stroke-width:1;fill:none}
.chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke:var(--c)}.chart .dot{fill:var(--c)}.chart .bar{fill:var(--c)}
.chart .note{stroke:var(--ink);stroke-width:1;stroke-dasharray:4 3;fill:none}
.chart .bound{--c:var(--faint)}.chart .line.bound{stroke-dasharray:5 3;stroke-width:1.3}
.chart .dastac{--c:var(--c-dastac)}.chart .line.dastac{stroke-width:2.6}.chart .untiled{--c:var(--c-untiled)}.chart .inputs{--c:var(--c-inputs)}
.chart .dense{--c:var(--c-dense)}.chart .small{--c:var(--c-small)}.chart .large{--c:var(--c-large)}.chart .c-packed{--c:var(--c-c-packed)}
.chart .c-inputs{--c:var(--c-c-inputs)}.chart .c-dense{--c:var(--c-c-dense)}.chart .mkl{--c:var(--c-mkl)}.chart .openblas{--c:var(--c-openblas)}
.chart .numpy{--c:var(--c-numpy)}.chart .torch{--c:var(--c-torch)}.chart .taco{--c:var(--c-taco)}
";

/// Between panels, and around all.
const GAP: f64 = 14.0;

/// Width and height of a panel of lines.
const LINES: (f64, f64) = (262.0, 190.0);

/// Height of a panel of bars.
const BARS: f64 = 270.0;

/// Width of the whole figure.
const WIDTH: f64 = 4.0 * LINES.0 + 5.0 * GAP;

/// A figure, complete with its style if it is to stand for itself.
pub fn svg(chart: &Chart, standalone: bool) -> String {
    let mut body = String::new();
    let top = legend(&mut body, &chart.series);
    let is_wide = |panel: &Panel| matches!(panel, Panel::Bars { .. });
    let narrow = chart.panels.iter().filter(|panel| !is_wide(panel)).count();
    let columns = match narrow {
        // Rows of three leave nothing over.
        many if many > 4 && many % 4 != 0 && many % 3 == 0 => 3,
        many => many.clamp(1, 4),
    };
    let (mut x, mut y, mut column, mut row) = (GAP, top, 0, 0.0f64);
    for panel in &chart.panels {
        let (width, height) = match panel {
            Panel::Lines { .. } if columns == 1 => (WIDTH - 2.0 * GAP, 400.0),
            Panel::Lines { .. } if columns < 4 => {
                ((WIDTH - GAP) / columns as f64 - GAP, LINES.1 * 1.25)
            }
            Panel::Lines { .. } => LINES,
            Panel::Bars { .. } => (WIDTH - 2.0 * GAP, BARS),
        };
        if column == columns || (is_wide(panel) && column > 0) {
            (x, y, column, row) = (GAP, y + row + GAP, 0, 0.0);
        }
        let _ = write!(body, "<g transform=\"translate({x:.0} {y:.0})\">");
        draw(&mut body, panel, &chart.series, width, height);
        body.push_str("</g>\n");
        let taken = if is_wide(panel) { columns } else { column + 1 };
        (x, column, row) = (x + width + GAP, taken, row.max(height));
    }
    let height = y + row + GAP;
    let style = if standalone { format!("<style>{STYLE}</style>") } else { String::new() };
    let background = match standalone {
        true => {
            "<style>.paper{fill:#fff}@media(prefers-color-scheme:dark){.paper{fill:#16181b}}</style><rect \
            class=\"paper\" width=\"100%\" height=\"100%\"/>"
        }
        false => "",
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" \
        role=\"img\" aria-label=\"{}\">{style}{background}\n{body}</svg>\n",
        escape(&chart.title)
    )
}

/// Text for XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// How wide a text is, about.
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * 6.1
}

/// The names of series; where panels begin.
fn legend(body: &mut String, series: &[Key]) -> f64 {
    let (mut x, mut y) = (GAP, 14.0);
    for key in series {
        let width = 26.0 + width_of(&key.label) + 14.0;
        if x + width > WIDTH {
            (x, y) = (GAP, y + 18.0);
        }
        let class = escape(&key.class);
        let mark = match key.class.contains("bound") {
            true => format!("<path class=\"line {class}\" d=\"M{x:.0} {y:.0}h18\"/>"),
            false => format!(
                "<rect class=\"bar {class}\" x=\"{x:.0}\" y=\"{:.0}\" width=\"18\" height=\"8\" rx=\"2\"/>",
                y - 4.0
            ),
        };
        let _ = writeln!(
            body,
            "{mark}<text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x + 24.0,
            y + 4.0,
            escape(&key.label)
        );
        x += width;
    }
    y + 16.0
}

/// Where the smallest and the largest number of an axis are drawn.
#[derive(Clone, Copy)]
struct Ends {
    start: f64,
    end: f64,
}

/// From numbers to places.
struct Scale {
    log: bool,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// Over all values; bars and linear axes begin at 0.
    fn over(values: &[f64], axis: &Axis, zero: bool, ends: Ends) -> Scale {
        let Ends { start, end } = ends;
        let finite = || values.iter().copied().filter(|v| v.is_finite() && (!axis.log || *v > 0.0));
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let (from, to) = match axis.log {
            true if zero => (low.min(1.0) / 1.15, high.max(1.0) * 1.25),
            true => (low / 1.15, high * 1.15),
            false => (0.0f64.min(low), high.max(f64::MIN_POSITIVE) * 1.08),
        };
        Scale { log: axis.log, from, to, start, end }
    }

    fn at(&self, value: f64) -> f64 {
        let part = match self.log {
            true => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        self.start + (self.end - self.start) * part
    }

    /// Round numbers, at most `most` of them.
    fn ticks(&self, most: usize) -> Vec<f64> {
        if self.log {
            let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
            let steps: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
            for step in steps {
                let all = decades.clone().flat_map(|d| step.iter().map(move |s| s * 10f64.powi(d)));
                let ticks: Vec<f64> = all.filter(|t| (self.from..=self.to).contains(t)).collect();
                if (2..=most).contains(&ticks.len()) {
                    return ticks;
                }
            }
            let all = decades.map(|d| 10f64.powi(d)).filter(|t| (self.from..=self.to).contains(t));
            let all: Vec<f64> = all.collect();
            let stride = all.len().div_ceil(most).max(1);
            if all.len() > 1 {
                return all.into_iter().step_by(stride).collect();
            }
        }
        let rough = (self.to - self.from) / most as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        (first..=last).map(|k| k as f64 * step).collect()
    }
}

/// A number on an axis: short.
fn short(value: f64) -> String {
    let trim = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 1e15 => format!("1e{:.0}", v.log10()),
        v if v >= 1e9 => trim(format!("{:.1}", value / 1e9)) + "G",
        v if v >= 1e6 => trim(format!("{:.1}", value / 1e6)) + "M",
        v if v >= 1e4 => trim(format!("{:.1}", value / 1e3)) + "k",
        v if v >= 10.0 => format!("{value:.0}"),
        v if v >= 0.1 => trim(format!("{value:.2}")),
        v if v >= 0.001 => trim(format!("{value:.4}")),
        _ => format!("{value:.0e}"),
    }
}

fn draw(body: &mut String, panel: &Panel, series: &[Key], width: f64, height: f64) {
    match panel {
        Panel::Lines { title, x, y, points, names } => {
            let frame = Frame { left: 40.0, right: width - 6.0, top: 22.0, bottom: height - 32.0 };
            let all = || points.iter().flatten();
            let xs: Vec<f64> = all().map(|(x, _)| *x).collect();
            let ys: Vec<f64> = all().map(|(_, y)| *y).collect();
            let across = Scale::over(&xs, x, false, Ends { start: frame.left, end: frame.right });
            let up = Scale::over(&ys, y, false, Ends { start: frame.bottom, end: frame.top });
            frame.draw(body, title, &y.label, &up);
            for tick in across.ticks(5) {
                let at = across.at(tick);
                let _ = writeln!(
                    body,
                    "<path class=\"grid\" d=\"M{at:.1} {:.1}V{:.1}\"/><text class=\"faint\" x=\"{at:.1}\" y=\"{:.1}\" \
                    text-anchor=\"middle\">{}</text>",
                    frame.top,
                    frame.bottom,
                    frame.bottom + 13.0,
                    short(tick)
                );
            }
            let _ = writeln!(
                body,
                "<text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                f64::midpoint(frame.left, frame.right),
                frame.bottom + 27.0,
                escape(&x.label)
            );
            // The first series is drawn over the others.
            for (key, points) in series.iter().zip(points).rev() {
                let class = escape(&key.class);
                let place = |(x, y): &(f64, f64)| format!("{:.1} {:.1}", across.at(*x), up.at(*y));
                let path: Vec<String> = points.iter().map(place).collect();
                if !path.is_empty() && !class.contains("dots") {
                    let _ =
                        writeln!(body, "<path class=\"line {class}\" d=\"M{}\"/>", path.join("L"));
                }
                if class == "bound" {
                    continue;
                }
                let radius = if class.contains("dots") { 4.5 } else { 2.4 };
                for (x, y) in points {
                    let _ = write!(
                        body,
                        "<circle class=\"dot {class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"><title>{}: {} at \
                        {}</title></circle>",
                        across.at(*x),
                        up.at(*y),
                        escape(&key.label),
                        short(*y),
                        short(*x)
                    );
                }
                body.push('\n');
            }
            // Names that would lie over others are left out: the pointer shows them.
            let mut taken: Vec<(f64, f64)> = Vec::new();
            for ((x, y), name) in points.iter().flatten().zip(names) {
                let (x, y) = (across.at(*x) + 8.0, up.at(*y) + 3.5);
                let near = |(a, b): &(f64, f64)| (a - x).abs() < 62.0 && (b - y).abs() < 11.0;
                if !taken.iter().any(near) {
                    let _ = write!(
                        body,
                        "<text class=\"faint\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
                        escape(name)
                    );
                    taken.push((x, y));
                }
            }
        }
        Panel::Bars { title, y, groups, line } => {
            let frame = Frame { left: 44.0, right: width - 6.0, top: 22.0, bottom: height - 62.0 };
            bars(body, Bars { title, y, groups, line: *line }, series, &frame);
        }
    }
}

/// The place of a panel's axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn draw(&self, body: &mut String, title: &str, label: &str, up: &Scale) {
        for tick in up.ticks(6) {
            let at = up.at(tick);
            let _ = writeln!(
                body,
                "<path class=\"grid\" d=\"M{:.1} {at:.1}H{:.1}\"/><text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\" \
                text-anchor=\"end\">{}</text>",
                self.left,
                self.right,
                self.left - 5.0,
                at + 3.5,
                short(tick)
            );
        }
        let _ = writeln!(
            body,
            "<path class=\"axis\" d=\"M{:.1} {:.1}V{:.1}H{:.1}\"/><text class=\"title\" x=\"{:.1}\" \
            y=\"12\">{}</text><text class=\"faint\" x=\"{:.1}\" y=\"12\" text-anchor=\"end\">{}</text>",
            self.left,
            self.top,
            self.bottom,
            self.right,
            self.left,
            escape(title),
            self.right,
            escape(label)
        );
    }
}

/// A panel of bars, as [`Panel::Bars`] has it.
struct Bars<'a> {
    title: &'a str,
    y: &'a Axis,
    groups: &'a [(String, Vec<Option<f64>>)],
    line: Option<f64>,
}

fn bars(body: &mut String, panel: Bars<'_>, series: &[Key], frame: &Frame) {
    let Bars { title, y, groups, line } = panel;
    let mut all: Vec<f64> =
        groups.iter().flat_map(|(_, bars)| bars.iter().flatten().copied()).collect();
    all.extend(line);
    let up = Scale::over(&all, y, true, Ends { start: frame.bottom, end: frame.top });
    frame.draw(body, title, &y.label, &up);
    let each = (frame.right - frame.left) / groups.len().max(1) as f64;
    let bar = (each * 0.8 / series.len().max(1) as f64).min(26.0);
    let base = up.at(if y.log { 1.0f64.clamp(up.from, up.to) } else { 0.0 });
    let turned = groups.iter().any(|(name, _)| each < width_of(name) + 6.0);
    for (at, (name, heights)) in groups.iter().enumerate() {
        let middle = frame.left + each * (at as f64 + 0.5);
        let start = middle - bar * heights.len() as f64 / 2.0;
        for (k, (key, value)) in series.iter().zip(heights).enumerate() {
            let Some(value) = value else { continue };
            let (one, other) = (up.at(*value), base);
            let (top, tall) = (one.min(other), (one - other).abs().max(0.8));
            let _ = write!(
                body,
                "<rect class=\"bar {}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" \
                rx=\"1\"><title>{}, {}: {}</title></rect>",
                escape(&key.class),
                start + bar * k as f64 + 0.5,
                bar - 1.0,
                escape(name),
                escape(&key.label),
                short(*value)
            );
        }
        let _ = match turned {
            true => writeln!(
                body,
                "<text class=\"faint\" transform=\"translate({:.1} {:.1}) rotate(-32)\" text-anchor=\"end\">{}</text>",
                middle + 6.0,
                frame.bottom + 13.0,
                escape(name)
            ),
            false => writeln!(
                body,
                "<text class=\"faint\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                frame.bottom + 15.0,
                escape(name)
            ),
        };
    }
    if let Some(line) = line {
        let at = up.at(line);
        let _ = writeln!(
            body,
            "<path class=\"note\" d=\"M{:.1} {at:.1}H{:.1}\"/>",
            frame.left, frame.right
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::charts;
    use crate::results::tests::sample;
    use expect_test::expect_file;

    /// Rewritten with `UPDATE_EXPECT=1`; to look at in a browser.
    #[test]
    fn a_figure_on_fixed_data() {
        let charts = charts(&sample());
        let chart = charts.iter().find(|chart| chart.name == "11").unwrap();
        expect_file!["testdata/figure.svg"].assert_eq(&svg(chart, true));
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis { label: String::new(), log: false };
        let scale = Scale::over(&[0.0, 93.0], &axis, false, Ends { start: 0.0, end: 1.0 });
        assert_eq!(scale.ticks(6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let axis = Axis { label: String::new(), log: true };
        let scale = Scale::over(&[3.0, 4000.0], &axis, false, Ends { start: 0.0, end: 1.0 });
        assert_eq!(scale.ticks(6), [10.0, 100.0, 1000.0]);
        assert!((scale.at(3.0 / 1.15)).abs() < 1e-9 && (scale.at(4600.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.0005, 0.25, 3.0, 12.5, 16384.0, 1048576.0].map(short);
        assert_eq!(texts, ["0", "5e-4", "0.25", "3", "12", "16.4k", "1M"]);
    }
}
