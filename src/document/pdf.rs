//! PDFs: the text of each page on a line of its own, so that the number of a line is that of its page.

mod content;
mod mended;
mod page;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, Object, ObjectId, Stream, dictionary, output_doc_page};

use crate::{Bounded, Remark, Unreadable};
use page::Page;

const FORMAT: &str = "PDF";

/// Writes each page as soon as it is read: if something ends this process in a page, those before it are there.
pub(super) fn write(bytes: &[u8], out: &mut Bounded<'_>) -> Result<Remark, Unreadable> {
    let mut loaded = load(without_tail(bytes));
    if !matches!(&loaded, Ok(document) if document.is_encrypted() || !document.get_pages().is_empty())
        && let Some(Ok(found)) = mended::with_table(bytes).map(|bytes| load(&bytes))
    {
        loaded = Ok(found);
    }
    let mut document = loaded?;
    // Many are encrypted with no password, so that they cannot be printed.
    let is_of_trailer = matches!(document.trailer.get(b"Encrypt"), Ok(Object::Dictionary(_)));
    // The reader reads nothing of a file whose trailer itself says how it is encrypted.
    if is_of_trailer || (document.is_encrypted() && document.decrypt("").is_err()) {
        return Err(Unreadable::Encrypted);
    }
    let pages = document.get_pages();
    // What it does not reach stays as it is.
    let _ = catch_unwind(AssertUnwindSafe(|| mended::mend(&mut document)));
    let (mut failed, mut empty) = (0usize, 0usize);
    for id in pages.values() {
        let mut page = Page::default();
        let read = catch_unwind(AssertUnwindSafe(|| read(&mut document, *id, &mut page)));
        failed += usize::from(!matches!(read, Ok(Some(()))));
        let mut line = line(&page.text());
        empty += usize::from(line.is_empty());
        line.push('\n');
        out.text(&line)?;
        if out.left == 0 {
            break;
        }
    }
    Ok(match (failed, pages.len()) {
        (0, all) if empty == all => Some("it has no text; it may be scanned. Its name is searched".to_owned()),
        (0, _) => None,
        (failed, all) => Some(format!("{failed} of its {all} pages cannot be read in full")),
    })
}

fn load(bytes: &[u8]) -> Result<Document, Unreadable> {
    let broken = |why: String| Unreadable::Broken { format: FORMAT, why };
    // The reader panics on many broken files.
    let loaded = catch_unwind(|| Document::load_mem(bytes)).map_err(|_| broken("its reader gave up".to_owned()))?;
    loaded.map_err(|error| broken(error.to_string()))
}

/// Reads a page; `None` if it cannot be read. It becomes the document's only one: the reader goes through all for each.
fn read(document: &mut Document, id: ObjectId, into: &mut Page) -> Option<()> {
    let program = content::writing(&document.get_page_content(id).ok()?);
    let program = document.add_object(Stream::new(dictionary! {}, program));
    let page = document.get_dictionary_mut(id).ok()?;
    page.set("Contents", program);
    // The reader wants the one, and gives up at many an other.
    page.set("MediaBox", vec![Object::from(0); 4]);
    page.remove(b"ArtBox");
    let only = dictionary! { "Type" => "Pages", "Count" => 1, "Kids" => vec![id.into()] };
    let only = document.add_object(only);
    document.catalog_mut().ok()?.set("Pages", only);
    let read = output_doc_page(document, into, 1);
    document.objects.remove(&program);
    document.objects.remove(&only);
    read.ok()
}

/// The file up to its end, if more follows that than the reader looks through: a server may have added to it.
fn without_tail(bytes: &[u8]) -> &[u8] {
    const END: &[u8] = b"%%EOF";
    const LOOKED_THROUGH: usize = 500;
    let end = bytes.windows(END.len()).rposition(|part| part == END).map_or(bytes.len(), |at| at + END.len());
    if bytes.len() - end > LOOKED_THROUGH { &bytes[..end] } else { bytes }
}

/// A page in one line: white space folded, words that were split at the end of a line joined, ligatures spelt out.
fn line(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for line in page.lines() {
        let mut words = line.split_whitespace().map(letters).filter(|word| !word.is_empty());
        let Some(first) = words.next() else { continue };
        let is_parted = out.strip_suffix(['-', '\u{ad}']).is_some_and(|before| before.ends_with(char::is_lowercase));
        if is_parted && first.starts_with(char::is_lowercase) {
            out.pop();
        } else if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&first);
        for word in words {
            out.push(' ');
            out.push_str(&word);
        }
    }
    out
}

/// A word in letters that people type: without ligatures and invisible characters.
fn letters(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            'ﬅ' | 'ﬆ' => out.push_str("st"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
