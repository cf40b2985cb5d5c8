//! What other programs open although it is not as it should be, and what the reader gives up at although it is.

use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, dictionary};

use super::content::writing;

/// Where the encoding that PDFs call the standard differs from ASCII (ISO 32000-1, D.2), as far as it matters to words.
const STANDARD: [(i64, &[&str]); 12] = [
    (39, &["quoteright"]),
    (96, &["quoteleft"]),
    (170, &["quotedblleft", "guillemotleft"]),
    (174, &["fi", "fl"]),
    (177, &["endash"]),
    (185, &["quotedblbase", "quotedblright", "guillemotright"]),
    (208, &["emdash"]),
    (225, &["AE"]),
    (232, &["Lslash", "Oslash", "OE"]),
    (241, &["ae"]),
    (245, &["dotlessi"]),
    (248, &["lslash", "oslash", "oe", "germandbls"]),
];

/// Encodings that the reader knows by name.
const KNOWN: [&[u8]; 3] = [b"MacRomanEncoding", b"MacExpertEncoding", b"WinAnsiEncoding"];

/// Objects of a document at most (ISO 32000-1, C.2).
const MOST_OBJECTS: u32 = 8_388_607;

/// Signs of a font at most.
const MOST_SIGNS: i64 = 1 << 16;

/// The file with a new table of its objects, which are looked for; `None` if that is of no use.
pub(super) fn with_table(bytes: &[u8]) -> Option<Vec<u8>> {
    // Places count from here.
    let bytes = &bytes[bytes.windows(5).position(|part| part == b"%PDF-")?..];
    let last = |word: &[u8]| bytes.windows(word.len()).rposition(|part| part == word);
    // Without its trailer nobody can decrypt it.
    if last(b"/Encrypt").is_some() {
        return None;
    }
    let ends = bytes.windows(3).enumerate().filter(|(_, part)| *part == b"obj");
    let objects: Vec<(usize, u32, u16)> = ends.filter_map(|(end, _)| head(&bytes[..end])).collect();
    let by_trailer = last(b"/Root").and_then(|at| reference(&bytes[at + 5..]));
    let of_catalog = || {
        let at = last(b"/Catalog")?;
        objects.iter().rfind(|(start, ..)| *start < at).map(|(_, number, generation)| (*number, *generation))
    };
    let (root, of_root) = by_trailer.or_else(of_catalog)?;
    let mut out = bytes.to_vec();
    // What is left of the last object must not take the table into itself.
    out.extend_from_slice(b"\nendobj\nxref\n0 1\n0000000000 65535 f \n");
    for (start, number, generation) in &objects {
        out.extend_from_slice(format!("{number} 1\n{start:010} {generation:05} n \n").as_bytes());
    }
    let size = objects.iter().map(|(_, number, _)| number + 1).max()?;
    let table = bytes.len() + b"\nendobj\n".len();
    let trailer = format!("trailer\n<</Size {size}/Root {root} {of_root} R>>\nstartxref\n{table}\n%%EOF\n");
    out.extend_from_slice(trailer.as_bytes());
    Some(out)
}

/// Where an object begins, and its number and generation, which end these bytes.
fn head(bytes: &[u8]) -> Option<(usize, u32, u16)> {
    let digits = |bytes: &[u8]| bytes.len() - bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let bytes = bytes.trim_ascii_end();
    let generation = digits(bytes);
    let before = bytes[..generation].trim_ascii_end();
    let number = digits(before);
    let (number_of, generation_of) = (parsed(&before[number..])?, parsed(&bytes[generation..])?);
    (number_of <= MOST_OBJECTS && before.len() < generation).then_some((number, number_of, generation_of))
}

/// The number and the generation of the object that the bytes begin with a reference to.
fn reference(bytes: &[u8]) -> Option<(u32, u16)> {
    let mut words = bytes[..bytes.len().min(40)].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Some((parsed(words.next()?)?, parsed(words.next()?)?))
}

fn parsed<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Makes a document one that the reader reads: only what writes text, in encodings and tables that it knows.
pub(super) fn mend(document: &mut Document) {
    let mut tables: Vec<ObjectId> = Vec::new();
    for object in document.objects.values_mut() {
        if let Object::Stream(stream) = object {
            mend_stream(stream);
        }
        each_dictionary(object, &mut |dictionary| {
            mend_font(dictionary);
            if is(dictionary, b"Subtype", &[b"CIDFontType0", b"CIDFontType2"]) {
                // Nothing is read of it, but it has to be there.
                if !dictionary.has(b"FontDescriptor") {
                    dictionary.set("FontDescriptor", Dictionary::new());
                }
                match dictionary.get_mut(b"W") {
                    Ok(Object::Array(widths)) => one_by_one(widths),
                    Ok(Object::Reference(id)) => tables.push(*id),
                    _ => {}
                }
            }
        });
    }
    for id in tables {
        if let Some(Object::Array(widths)) = document.objects.get_mut(&id) {
            one_by_one(widths);
        }
    }
}

/// The reader takes images for text.
fn mend_stream(stream: &mut Stream) {
    if is(&stream.dict, b"Subtype", &[b"Image"]) {
        stream.set_plain_content(Vec::new());
    } else if is(&stream.dict, b"Subtype", &[b"Form"]) {
        let program = stream.decompressed_content().map(|program| writing(&program)).unwrap_or_default();
        stream.set_plain_content(program);
    }
}

fn is(dictionary: &Dictionary, key: &[u8], names: &[&[u8]]) -> bool {
    matches!(dictionary.get(key), Ok(Object::Name(name)) if names.contains(&name.as_slice()))
}

/// Calls `then` for an object's dictionaries; objects do not stand deep in each other.
fn each_dictionary(object: &mut Object, then: &mut impl FnMut(&mut Dictionary)) {
    let dictionary = match object {
        Object::Dictionary(dictionary) => dictionary,
        Object::Stream(stream) => &mut stream.dict,
        Object::Array(parts) => return parts.iter_mut().for_each(|part| each_dictionary(part, then)),
        _ => return,
    };
    then(dictionary);
    dictionary.iter_mut().for_each(|(_, part)| each_dictionary(part, then));
}

/// Replaces an encoding whose name the reader does not know.
fn mend_font(dictionary: &mut Dictionary) {
    let is_unknown = |own: &Dictionary, key| matches!(own.get(key), Ok(Object::Name(_))) && !is(own, key, &KNOWN);
    if is_unknown(dictionary, b"Encoding") && !is(dictionary, b"Subtype", &[b"Type0"]) {
        dictionary.set("Encoding", dictionary! { "Differences" => standard() });
    } else if is_unknown(dictionary, b"BaseEncoding") {
        dictionary.remove(b"BaseEncoding");
        let own = dictionary.get(b"Differences").and_then(Object::as_array).into_iter().flatten();
        let both: Vec<Object> = standard().into_iter().chain(own.cloned()).collect();
        dictionary.set("Differences", both);
    }
}

fn standard() -> Vec<Object> {
    let names = |(code, names): (i64, &[&str])| {
        std::iter::once(Object::from(code)).chain(names.iter().map(|name| Object::from(*name))).collect::<Vec<_>>()
    };
    STANDARD.into_iter().flat_map(names).collect()
}

/// A table of widths that names each: the reader passes over what holds for several (`first last width`).
fn one_by_one(widths: &mut Vec<Object>) {
    let mut out = Vec::new();
    let mut left = MOST_SIGNS;
    let mut rest = widths.as_slice();
    loop {
        rest = match rest {
            [first, list @ (Object::Array(_) | Object::Reference(_)), rest @ ..] => {
                out.extend([first.clone(), list.clone()]);
                rest
            }
            [Object::Integer(first), Object::Integer(last), width, rest @ ..] => {
                let count = last.saturating_sub(*first).saturating_add(1).clamp(0, left);
                left -= count;
                out.extend([Object::Integer(*first), Object::Array(vec![width.clone(); count as usize])]);
                rest
            }
            _ => break,
        };
    }
    *widths = out;
}
