//! Electronic books (EPUB 3.3, <https://www.w3.org/TR/epub-33/>): the pages of the spine, in order.

use std::collections::HashMap;

use roxmltree::Node;

use crate::package::{Package, within};
use crate::{Bounded, Remark, Unreadable, front_matter, html};

const FORMAT: &str = "EPUB";

/// Writes the book, a page after the other.
pub(super) fn write(bytes: &[u8], most: usize, out: &mut Bounded<'_>) -> Result<Remark, Unreadable> {
    let mut package = Package::open(bytes, FORMAT, most)?;
    let container = package.text("META-INF/container.xml")?;
    let container = package.xml("META-INF/container.xml", &container)?;
    let named = |node: &Node<'_, '_>, name: &str| node.tag_name().name() == name;
    let place =
        container.descendants().find(|node| named(node, "rootfile")).and_then(|node| node.attribute("full-path"));
    let place = place.ok_or_else(|| broken("its container names no package"))?.to_owned();
    let opf = package.text(&place)?;
    let opf = package.xml(&place, &opf)?;
    let said = |name: &str| opf.descendants().find(|node| named(node, name)).and_then(|node| node.text());
    out.text(&front_matter(said("title"), said("creator")))?;

    let items = opf.descendants().filter(|node| named(node, "item"));
    let items: HashMap<&str, &str> =
        items.filter_map(|item| Some((item.attribute("id")?, item.attribute("href")?))).collect();
    let spine = opf.descendants().filter(|node| named(node, "itemref")).filter_map(|item| item.attribute("idref"));
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut read, mut missing, mut unreadable) = (0usize, 0usize, 0usize);
    for href in spine.filter_map(|id| items.get(id)) {
        match package.part(&within(folder, href)).map(|page| page.map(|page| html::markdown(&html::decoded(&page)))) {
            Ok(Some(Ok(text))) => {
                out.text(&text)?;
                out.text("\n")?;
                read += 1;
            }
            Ok(None) => missing += 1,
            Ok(Some(Err(_))) | Err(_) => unreadable += 1,
        }
        if out.left == 0 {
            break;
        }
    }
    if read == 0 {
        return Err(broken("none of its pages can be read; perhaps it is protected"));
    }
    let parts =
        [(missing, "are not there"), (unreadable, "cannot be read")].into_iter().filter(|(pages, _)| *pages > 0);
    let parts: Vec<String> = parts.map(|(pages, what)| format!("{pages} of its pages {what}")).collect();
    Ok((!parts.is_empty()).then(|| parts.join(", ")))
}

fn broken(why: &str) -> Unreadable {
    Unreadable::Broken { format: FORMAT, why: why.to_owned() }
}
