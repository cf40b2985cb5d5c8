//! What the reader gives up at although it is as it should be.

use pdf_extract::{Dictionary, Document, Object, Stream};

use super::content::writing;

/// Makes a document one that the reader reads: only what writes text.
pub(super) fn mend(document: &mut Document) {
    for object in document.objects.values_mut() {
        if let Object::Stream(stream) = object {
            mend_stream(stream);
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
