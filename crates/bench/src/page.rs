//! The report as one page, without anything from outside.

use std::fmt::Write;

use super::charts::charts;
use super::goals::{Goal, goals};
use super::peers::{SYSTEMS, label};
use super::results::{CaseResults, Measured, Outcome, Results};
use super::summary::{date, describe};
use super::svg::{STYLE, escape, svg};
use super::table::{self, Row, milliseconds};

/// The page's own style.
const PAGE: &str = include_str!("page.css");

/// The page.
pub fn page(results: &Results) -> String {
    let charts = charts(results);
    let mut body = String::new();
    head(&mut body, results);
    let links = charts
        .iter()
        .map(|chart| format!("<a href=\"#figure-{}\">{}</a>", chart.name, escape(&chart.title)));
    let links: Vec<String> = links.collect();
    let table = match results.table_cases().is_empty() {
        true => "",
        false => "<a href=\"#kernels\">Kernels</a>",
    };
    let _ = writeln!(body, "<nav>{table}{}<a href=\"#method\">Method</a></nav>", links.concat());
    body.push_str("<div class=\"tiles\">");
    goals(results).iter().for_each(|goal| tile(&mut body, goal));
    body.push_str("</div>\n");
    kernels(&mut body, results);
    for chart in &charts {
        let _ = writeln!(
            body,
            "<h2 id=\"figure-{}\">{}</h2><p class=\"faint\">{}</p><div class=\"card\">{}</div>",
            chart.name,
            escape(&chart.title),
            escape(&chart.caption),
            svg(chart, false)
        );
    }
    method(&mut body, results);
    format!(
        "<!doctype html>\n\
         <html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>dastac, \
         measured</title><style>{PAGE}{STYLE}</style></head>\n<body><main>\n{body}</main></body></html>\n"
    )
}

fn head(body: &mut String, results: &Results) {
    let machine = &results.machine;
    let _ = writeln!(
        body,
        "<h1>dastac, measured</h1><p class=\"faint\">{} &middot; <code>{}</code> &middot; {}</p>",
        date(machine.time),
        escape(&results.command),
        escape(&describe(machine))
    );
    let lead = super::stats::geometric_mean(
        results.table_cases().iter().filter_map(|case| table::row(results, case).against_peer()),
    );
    let ahead = lead.map_or(String::new(), |mean| {
        format!(
            "Over all kernels, dastac is <b>{mean:.2}&times;</b> as fast as the best of its peers (geometric mean). "
        )
    });
    let mut rates = String::new();
    for rate in &machine.rates {
        let _ = write!(
            rates,
            "{} thread{}: {:.0} GFLOP/s, {:.0} GB/s from memory. ",
            rate.threads,
            if rate.threads == 1 { "" } else { "s" },
            rate.fma64 * 2e-9,
            rate.bandwidth((512u64 << 20) as f64) / 1e9
        );
    }
    let _ = writeln!(
        body,
        "<p class=\"lead\">{ahead}What this machine can do at most was measured in the same run: {rates}</p>"
    );
}

/// How good a ratio is: reached, nearly, or not.
fn class(part: f64) -> &'static str {
    match part {
        part if part >= 1.0 => "good",
        part if part >= 0.8 => "near",
        _ => "far",
    }
}

fn tile(body: &mut String, goal: &Goal) {
    let (met, all) = (goal.met(), goal.rows.len());
    let look = match met {
        met if met == all => "good",
        met if met * 2 >= all => "near",
        _ => "far",
    };
    let mark = if met == all { "&#10003; " } else { "" };
    let _ = write!(
        body,
        "<section class=\"tile {look}\"><h3>{}</h3><div class=\"big\">{mark}{met}<small> of \
        {all}</small></div><p>{}</p>",
        escape(&goal.title),
        escape(&goal.target)
    );
    body.push_str("<details><summary>each of them</summary><table class=\"rows\">");
    for row in &goal.rows {
        let miss = if row.met() { "" } else { " class=\"miss\"" };
        let _ =
            write!(body, "<tr{miss}><td>{}</td><td>{:.2}</td></tr>", escape(&row.name), row.value);
    }
    body.push_str("</table></details></section>\n");
}

fn kernels(body: &mut String, results: &Results) {
    let cases = results.table_cases();
    if cases.is_empty() {
        return;
    }
    let systems: Vec<&str> = super::figures::table_systems(false)
        .iter()
        .copied()
        .filter(|name| *name != "dastac")
        .filter(|name| cases.iter().any(|case| case.system(name).is_some_and(Measured::ran)))
        .collect();
    body.push_str(
        "<h2 id=\"kernels\">Kernels</h2><p class=\"faint\">Medians in milliseconds. The bound is the time that \
         reading inputs and writing outputs once, or one \
         multiply-add for each point, takes at least; the bar is how much of it dastac reaches. The chip is the best \
         peer's time over dastac's.</p>\
         <div class=\"card\"><table \
         class=\"results\"><thead><tr><th>kernel</th><th>n</th><th>dastac</th><th>&plusmn;</th><th>bound</th><th>of \
         the bound</th><th>against the best</th>",
    );
    for system in &systems {
        let _ = write!(body, "<th>{}</th>", escape(label(system)));
    }
    body.push_str("</tr></thead><tbody>\n");
    let mut group = None;
    for case in cases {
        let this = (case.single, case.threads);
        if group != Some(this) {
            group = Some(this);
            let _ = writeln!(
                body,
                "<tr class=\"group\"><td colspan=\"{}\">{} thread{}, {}-bit elements</td></tr>",
                7 + systems.len(),
                case.threads,
                if case.threads == 1 { "" } else { "s" },
                if case.single { 32 } else { 64 }
            );
        }
        kernel(body, case, &table::row(results, case), &systems);
    }
    body.push_str("</tbody></table></div>\n");
    let gaps = table::gaps(results.table_cases());
    if !gaps.is_empty() {
        body.push_str("<details><summary>What could not be measured</summary><ul class=\"faint\">");
        gaps.iter().for_each(|gap| {
            let _ = write!(body, "<li>{}</li>", escape(gap));
        });
        body.push_str("</ul></details>\n");
    }
}

fn kernel(body: &mut String, case: &CaseResults, row: &Row, systems: &[&str]) {
    let number = |ms: Option<f64>| ms.map_or_else(|| "&ndash;".into(), milliseconds);
    let _ = write!(
        body,
        "<tr><td>{}</td><td>{}</td><td class=\"best\">{}</td><td class=\"gap\">{}</td><td>{}</td>",
        escape(&row.title),
        row.n,
        number(row.dastac),
        row.spread.map_or_else(String::new, |spread| format!("{:.0}%", spread * 100.0)),
        number(row.bound.map(|(ms, _)| ms)),
    );
    match row.of_bound() {
        Some(part) => {
            let _ = write!(
                body,
                "<td><span class=\"meter {}\"><i style=\"width:{:.0}%\"></i></span><span \
                class=\"part\">{:.0}%</span></td>",
                class(part / 0.9),
                (part * 100.0).min(100.0),
                part * 100.0
            );
        }
        None => body.push_str("<td class=\"gap\">&ndash;</td>"),
    }
    match row.against_peer() {
        Some(ratio) => {
            let _ = write!(
                body,
                "<td><span class=\"chip {}\">{ratio:.2}&times;</span></td>",
                class(ratio / 0.95)
            );
        }
        None => body.push_str("<td class=\"gap\">&ndash;</td>"),
    }
    for system in systems {
        let best = row.best.as_ref().is_some_and(|(name, _)| name == system);
        match case.system(system).map(|measured| (&measured.outcome, &measured.detail)) {
            Some((Outcome::Time { time, .. }, detail)) => {
                let _ = write!(
                    body,
                    "<td{} title=\"{}\">{}</td>",
                    if best { " class=\"best\"" } else { "" },
                    escape(detail),
                    milliseconds(time.median_ns / 1e6)
                );
            }
            Some((Outcome::Wrong { error, .. }, _)) => {
                let _ = write!(body, "<td class=\"wrong\">differs by {error:.0e}</td>");
            }
            Some((Outcome::Gap { reason }, _)) => {
                let _ = write!(body, "<td class=\"gap\" title=\"{}\">&ndash;</td>", escape(reason));
            }
            None => body.push_str("<td></td>"),
        }
    }
    body.push_str("</tr>\n");
}

fn method(body: &mut String, results: &Results) {
    body.push_str(
        "<h2 id=\"method\">Method</h2><ul><li>Every case runs in a process of its own, pinned to as many CPUs as it \
         has threads.</li>\
         <li>All systems compute on the same random data; what they compute is compared with dastac's results, and \
         where it differs the time does not count.</li>\
         <li>Systems take turns, back and forth, each after a run that does not count. Shown are medians; &plusmn; is \
         the median distance from them. Runs that \
         another process interrupted are set aside where there are others.</li>\
         <li>Operations and bytes are counted from the inferred structure, not from what a system happens to \
         do.</li></ul>\n<ul class=\"faint\">",
    );
    let used: Vec<&str> = results
        .cases
        .values()
        .flat_map(|case| case.systems.iter().map(|measured| measured.system.as_str()))
        .collect();
    for about in SYSTEMS.iter().filter(|about| used.contains(&about.name)) {
        let _ = writeln!(body, "<li><b>{}</b>: {}</li>", escape(about.label), escape(about.about));
    }
    body.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn the_page_stands_for_itself() {
        let page = page(&sample());
        let text = page.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http", "src=", "@import", "url("] {
            assert!(!text.contains(outside), "{outside}");
        }
        for part in
            ["TTM as fast as MKL", "differs by 5e-1", "not &lt;installed&gt;", "1.20&times;", "80%"]
        {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf\""));
        for tag in ["table", "section", "details", "svg", "g", "div", "ul", "td", "tr"] {
            let count = |text: &str| page.matches(text).count();
            let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
            assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
        }
    }
}
