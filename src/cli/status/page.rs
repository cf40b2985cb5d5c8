//! `situated status --html`: status and doctor as one page that loads nothing from elsewhere.

use std::io::Write as _;
use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::rows::{Row, Rows};
use crate::cli::doctor::Check;
use crate::cli::print::{printable, shown};
use crate::cli::replace;
use crate::cli::session::{CliFailure, Session};
use protocol::status::VaultStatus;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1d2129;--paper:#fff;--soft:#667;--line:#d5d8de;--green:#2f8f5b;--yellow:#b07a12;--red:#c0392b}
@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--paper:#16181d;--soft:#99a;--line:#363a44;--green:#63bd93;--yellow:#d9a64e;--red:#e57368}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:56rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.15rem .8rem .15rem 0;overflow-wrap:anywhere}
th{color:var(--soft);font-weight:normal;white-space:nowrap;width:6rem}tbody+tbody tr:first-child>*{border-top:1px solid var(--line);padding-top:.6rem}
tbody tr:last-child>*{padding-bottom:.6rem}
.soft{color:var(--soft)}.green{color:var(--green)}.yellow{color:var(--yellow)}.red{color:var(--red)}
code{font-size:.9em}
";

/// The page.
pub(super) fn page(rows: &Rows, findings: &[Check]) -> String {
    let now = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M").to_string();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "situated: " (rows.health) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { span class=(rows.light.sign().class) { "● " } (rows.health) }
                p class="soft" { "As it was on " (now) "." }
                table { @for part in rows.lines.split(|row| *row == Row::Gap) { tbody { @for row in part { (line(row)) } } } }
                h2 { "What was looked at" }
                table { tbody { @for check in findings { (finding(check)) } } }
            }
        }
    };
    page.into_string()
}

fn line(row: &Row) -> Markup {
    let (name, class, value) = match row {
        Row::Gap => return Markup::default(),
        Row::Vault { name, path } => {
            return html! { tr { th { "vault" } td { strong { (name) } " " span class="soft" { (path) } } } };
        }
        Row::Plain { name, value } => (name, "", value),
        Row::Warning { name, value } => (name, "yellow", value),
        Row::Soft { name, value } => (name, "soft", value),
    };
    html! { tr { th { (name) } td class=[Some(class).filter(|class| !class.is_empty())] { (value) } } }
}

fn finding(check: &Check) -> Markup {
    let sign = check.level.sign();
    html! {
        tr {
            th { span class=(sign.class) { (sign.mark) } " " (check.id) }
            td {
                (printable(&check.finding))
                @if let Some(evidence) = &check.evidence { div class="soft" { (printable(evidence)) } }
                @if let Some(remedy) = &check.remedy { div { "→ " code { (printable(remedy)) } } }
            }
        }
    }
}

/// Writes the page to a file that only its owner reads, or to standard output for `-`.
pub(super) fn write(file: &Path, page: &str, vaults: &[VaultStatus], session: &mut Session) -> Result<(), CliFailure> {
    if file == Path::new("-") {
        return Ok(session.out.text(page)?);
    }
    let mut draft = replace::page(file, vaults.iter().map(|vault| vault.path.as_path()))?;
    draft.out.write_all(page.as_bytes())?;
    draft.land()?;
    session.say(format!("wrote {}: a browser shows it", shown(file)));
    Ok(())
}
