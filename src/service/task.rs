//! The task of Windows' Task Scheduler as text: `task.xml` is the template. Nothing here was run on Windows.

use std::path::{Path, PathBuf};

use super::plist::VERSION;
pub use super::plist::version;
use super::unit::Launch;

/// Its name in the Scheduler.
pub const NAME: &str = "situated";

/// The example, with another program and user.
pub const TEMPLATE: &str = include_str!("task.xml");

const COMMAND: &str = r"      <Command>C:\Program Files\situated\situated.exe</Command>";
const ARGUMENTS: &str = "      <Arguments>run --quiet</Arguments>";
const USER: &str = "<UserId>S-1-5-21-1</UserId>";

/// The task that runs this program for the user with this security identifier.
pub fn task(launch: &Launch, sid: &str, version: &str) -> String {
    let lines = TEMPLATE.lines().map(|line| match line {
        COMMAND => format!("      <Command>{}</Command>", escaped(&launch.program.to_string_lossy())),
        ARGUMENTS => {
            let mut arguments = "run --quiet".to_owned();
            for (option, path) in &launch.options {
                arguments.push_str(&format!(" {option} {}", quoted(path)));
            }
            format!("      <Arguments>{}</Arguments>", escaped(&arguments))
        }
        line if line.starts_with(VERSION) => format!("{VERSION}{version} -->"),
        line => line.replace(USER, &format!("<UserId>{}</UserId>", escaped(sid))),
    });
    lines.map(|line| line + "\n").collect()
}

/// A path as one word of a command line. Paths on Windows hold no quotation mark, but a `\` at the end would escape the
/// closing one, so it is doubled.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let doubled = if path.ends_with('\\') { "\\" } else { "" };
    format!("\"{path}{doubled}\"")
}

/// Text for XML, in ASCII only.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_ascii() => out.push(c),
            c => out.push_str(&format!("&#{};", u32::from(c))),
        }
        out
    })
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let Some((name, behind)) = after.split_once(';') else { return out + "&" + after };
        let number = name.strip_prefix('#').and_then(|number| char::from_u32(number.parse().ok()?));
        match name {
            "amp" => out.push('&'),
            "lt" => out.push('<'),
            "gt" => out.push('>'),
            _ => out.extend(number),
        }
        rest = behind;
    }
    out + rest
}

/// The program that a task runs.
pub fn program(text: &str) -> Option<PathBuf> {
    let (command, _) = text.split_once("<Command>")?.1.split_once("</Command>")?;
    Some(unescaped(command).into())
}

#[cfg(test)]
mod tests;
