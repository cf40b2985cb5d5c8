use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Counts what it converts, and says something of what is not `whole`.
#[derive(Default)]
struct Counting {
    calls: AtomicUsize,
    fails: bool,
}

impl Convert for Counting {
    fn convert(&self, format: Format, mut file: File, most: u64) -> io::Result<(Vec<u8>, Option<String>)> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.fails && call == 0 {
            return Err(io::Error::other("nobody is there"));
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        text.truncate(most as usize);
        let remark = (!text.contains("whole")).then(|| "said".to_owned());
        Ok((format!("{} {text}", format.name()).into_bytes(), remark))
    }
}

struct Place {
    dir: tempfile::TempDir,
    convert: Arc<Counting>,
    documents: Documents,
}

impl Place {
    fn new(fails: bool) -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("vault")).unwrap();
        let kept = dir.path().join("kept");
        let convert = Arc::new(Counting { fails, ..Counting::default() });
        let documents = Documents::new(Box::new(move |_| kept.clone()), Some(convert.clone()));
        Place { dir, convert, documents }
    }

    fn vault(&self) -> PathBuf {
        self.dir.path().join("vault")
    }

    fn kept(&self) -> usize {
        fs::read_dir(self.dir.path().join("kept")).map_or(0, Iterator::count)
    }

    fn read(&self, name: &str) -> Result<FileText, ReadError> {
        self.documents.read(&self.vault(), &path(name), 100)
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name).unwrap().bytes).unwrap()
    }

    fn calls(&self) -> usize {
        self.convert.calls.load(Ordering::Relaxed)
    }
}

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

#[test]
fn a_document_is_converted_once_and_again_when_it_changes() {
    let place = Place::new(false);
    let file = place.vault().join("a.pdf");
    fs::write(&file, "one").unwrap();
    let read = place.read("a.pdf").unwrap();
    assert_eq!((read.bytes.as_slice(), read.remark.as_deref()), (b"pdf one".as_slice(), Some("said")));
    assert_eq!(place.read("a.pdf").unwrap(), read);
    assert_eq!(place.calls(), 1);

    fs::write(&file, "another").unwrap();
    assert_eq!((place.text("a.pdf").as_str(), place.calls()), ("pdf another", 2));
    // A note beside it is read as it is.
    fs::write(place.vault().join("b.md"), "note").unwrap();
    assert_eq!((place.text("b.md").as_str(), place.calls()), ("note", 2));
}

#[test]
fn a_document_whose_limit_changes_is_converted_again() {
    let place = Place::new(false);
    fs::write(place.vault().join("a.pdf"), "a longer text").unwrap();
    let at_most = |most| place.documents.read(&place.vault(), &path("a.pdf"), most).unwrap().bytes;
    assert_eq!(at_most(8), b"pdf a longer");
    assert_eq!(at_most(100), b"pdf a longer text");
    assert_eq!((at_most(100).len(), place.calls(), place.kept()), (17, 2, 1));
}

#[test]
fn a_document_that_is_moved_keeps_its_text_and_one_rewritten_in_place_does_not() {
    let place = Place::new(false);
    let file = place.vault().join("a.pdf");
    fs::write(&file, "one").unwrap();
    place.text("a.pdf");
    fs::rename(&file, place.vault().join("b.pdf")).unwrap();
    assert_eq!((place.text("b.pdf").as_str(), place.calls()), ("pdf one", 1));
    // As long as before, and with the same time: only its bytes tell, and on Unix the change time, so they are read.
    let moved = place.vault().join("b.pdf");
    let time = fs::metadata(&moved).unwrap().modified().unwrap();
    fs::write(&moved, "two").unwrap();
    if cfg!(unix) {
        File::options().write(true).open(&moved).unwrap().set_modified(time).unwrap();
    }
    assert_eq!((place.text("b.pdf").as_str(), place.calls()), ("pdf two", 2));
    // Under another ending it is another thing.
    fs::rename(&moved, place.vault().join("b.docx")).unwrap();
    assert_eq!((place.text("b.docx").as_str(), place.calls()), ("docx two", 3));
}

#[test]
fn what_is_kept_of_documents_that_are_gone_is_removed() {
    let place = Place::new(false);
    for name in ["a.pdf", "b.pdf"] {
        fs::write(place.vault().join(name), name).unwrap();
        place.text(name);
    }
    assert_eq!(place.kept(), 2);
    let (one, stat) = (path("a.pdf"), place.read("a.pdf").unwrap().stat);
    place.documents.sweep(&place.vault(), [(&one, &stat)].into_iter());
    assert_eq!(place.kept(), 1);
    assert_eq!((place.text("a.pdf").as_str(), place.calls()), ("pdf a.pdf", 2));
}

#[test]
fn what_is_kept_may_be_damaged_or_lost() {
    let place = Place::new(false);
    fs::write(place.vault().join("a.pdf"), "one").unwrap();
    for damage in ["", "no head\n", "{\"version\":0}\ntext", "{"] {
        place.text("a.pdf");
        for entry in fs::read_dir(place.dir.path().join("kept")).unwrap().flatten() {
            fs::write(entry.path(), damage).unwrap();
        }
        assert_eq!(place.text("a.pdf"), "pdf one", "{damage:?}");
    }
}

#[test]
fn what_was_not_read_whole_is_forgotten_when_a_user_wants_that() {
    let place = Place::new(false);
    for (name, calls) in [("part", 2), ("whole", 3)] {
        fs::write(place.vault().join("a.pdf"), name).unwrap();
        place.text("a.pdf");
        place.documents.forget(&place.vault(), &path("a.pdf"));
        assert_eq!((place.text("a.pdf"), place.calls()), (format!("pdf {name}"), calls));
    }
}

#[test]
fn who_cannot_be_asked_is_asked_again() {
    let place = Place::new(true);
    fs::write(place.vault().join("a.pdf"), "one").unwrap();
    assert!(matches!(place.read("a.pdf"), Err(ReadError::Io(why)) if why.contains("nobody is there")));
    assert_eq!(place.text("a.pdf"), "pdf one");
}

#[test]
fn a_document_is_read_as_carefully_as_a_note() {
    let place = Place::new(false);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", place.vault().join("out.pdf")).unwrap();
        assert_eq!(place.read("out.pdf"), Err(ReadError::Outside));
    }
    let sparse = File::create(place.vault().join("large.pdf")).unwrap();
    sparse.set_len(MOST_BYTES + 1).unwrap();
    assert_eq!(place.read("large.pdf"), Err(ReadError::TooLarge(MOST_BYTES + 1)));
    assert_eq!(place.calls(), 0);
}
