use std::io::{Cursor, Write as _};

use note::Format;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::{Remark, Unreadable, convert};

const MOST: usize = 1 << 20;

pub(crate) fn read(format: Format, bytes: &[u8]) -> Result<(String, Remark), Unreadable> {
    let mut out = Vec::new();
    let remark = convert(format, bytes, MOST, &mut out)?;
    Ok((String::from_utf8(out).unwrap(), remark))
}

pub(crate) fn text(format: Format, bytes: &[u8]) -> String {
    read(format, bytes).unwrap().0
}

fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_canvas_is_read_in_order_group_by_group() {
    let canvas = r##"{"nodes":[
        {"id":"g","type":"group","x":0,"y":100,"width":400,"height":300,"label":"Winter  jobs"},
        {"id":"b","type":"text","x":10,"y":200,"width":100,"height":50,"text":"Oil the **hinges**"},
        {"id":"a","type":"text","x":0,"y":0,"width":100,"height":50,"text":"Before all groups #plan"},
        {"id":"f","type":"file","x":10,"y":120,"width":100,"height":50,"file":"Projects/Boat.md","subpath":"#Hull"},
        {"id":"l","type":"link","x":900,"y":0,"width":10,"height":10,"url":"https://example.org"},
        {"id":"new","type":"from the future","colour":3}],
        "edges":[{"id":"e","fromNode":"a","toNode":"b","label":"comes first"}]}"##;
    let expected = "Before all groups #plan\n\n<https://example.org>\n\n- comes first\n\n## Winter jobs\n\n\
                    [[Projects/Boat.md#Hull]]\n\nOil the **hinges**\n\n";
    assert_eq!(text(Format::Canvas, canvas.as_bytes()), expected);
    assert_eq!(text(Format::Canvas, format!("\u{FEFF}{canvas}").as_bytes()), expected);
    assert_eq!(text(Format::Canvas, b""), "");
    let Err(Unreadable::Broken { why, .. }) = read(Format::Canvas, b"{\"nodes\": [1]}") else { panic!() };
    assert!(why.contains("line 1"), "{why}");
}

#[test]
fn no_card_goes_on_into_the_next() {
    let cards = |texts: &[&str]| {
        let card = |(n, text): (usize, &&str)| serde_json::json!({"type": "text", "y": n, "text": text});
        let nodes: Vec<_> = texts.iter().enumerate().map(card).collect();
        text(Format::Canvas, serde_json::json!({ "nodes": nodes }).to_string().as_bytes())
    };
    assert_eq!(cards(&["# Idea [[A]]\none", "other"]), "other\n\n### Idea [[A]]\none\n\n");
    assert_eq!(cards(&["Idea\n===\none"]), "### Idea\none\n\n");
    assert_eq!(cards(&["a\n```\nb", "#tag"]), "a\n```\nb\n```\n\n#tag\n\n");
    assert_eq!(cards(&["<!-- a", "%% b", "c %% d"]), "\\<!-- a\n\n%% b\n\nc %% d\n\n");
    assert_eq!(cards(&["a %%b%% <!-- c --> d"]), "a   d\n\n");
}

#[test]
fn a_web_page_is_read_without_its_machinery() {
    let page = "<!doctype html><title>Tide &amp; wind</title><style>p{}</style><nav>Home</nav>\
                <h1>Harbour</h1><p>Low water at <b>six</b>.<script>track()</script><ul><li>rope<li>oil</ul>";
    let text = text(Format::Html, page.as_bytes());
    assert!(text.starts_with("---\ntitle: \"Tide & wind\"\n---\n\n# Harbour"), "{text}");
    assert!(text.contains("Low water at **six**.") && text.contains("rope"), "{text}");
    assert!(!text.contains("track") && !text.contains("Home") && !text.contains("p{}"), "{text}");
}

#[test]
fn old_encodings_of_web_pages_are_read() {
    for (charset, bytes) in [("iso-8859-1", b"caf\xe9".as_slice()), ("koi8-r", b"\xcd\xc9\xd2"), ("", b"caf\xe9")] {
        let page = [format!("<meta charset=\"{charset}\"><p>").as_bytes(), bytes].concat();
        let text = text(Format::Html, &page);
        assert!(text.contains(if charset == "koi8-r" { "мир" } else { "café" }), "{charset}: {text}");
    }
}

#[test]
fn elements_deep_in_each_other_are_refused() {
    for depth in [600, 100_000] {
        let page = "<div>".repeat(depth);
        assert!(matches!(read(Format::Html, page.as_bytes()), Err(Unreadable::Broken { .. })));
    }
    let flat = [
        format!("<script>{}</script>", "if(a<b)c;".repeat(600)),
        format!("<dl>{}</dl>", "<dt>a<dd>b".repeat(600)),
        format!("<DL><p>{}</DL>", "<DT><A HREF=x>a</A>".repeat(600)),
        "a<wbr>".repeat(600),
        format!("{}a{}", "<div>".repeat(490), "</div>".repeat(490)),
    ];
    for page in flat {
        assert!(text(Format::Html, format!("{page}<p>Last.").as_bytes()).ends_with("Last.\n"), "{page}");
    }
}

#[test]
fn tables_of_web_pages_keep_their_cells() {
    let cases = [
        (
            "<tr><th>Name</th><td>Ada</td></tr><tr><th>Born</th><td>1815</td></tr>",
            "| Name | Ada |\n|---|---|\n| Born | 1815 |\n",
        ),
        (
            "<caption>Odd</caption><thead><tr><th colspan=2>A<tr><th>b<th>c</thead><tbody><tr><th>row</th><td>x|<b>y</b></td></tr>",
            "Odd\n\n| A |  |\n|---|---|\n| b | c |\n| row | x **y** |\n",
        ),
        ("<tr><td>menu</td><td><p>one<p>two</td></tr>", "menu\n\none\n\ntwo\n"),
        ("<tr><td><table><tr><th>a<td>b</table></td></tr>", "| a | b |\n|---|---|\n"),
    ];
    for (table, expected) in cases {
        assert_eq!(text(Format::Html, format!("<table>{table}</table>").as_bytes()), expected, "{table}");
    }
}

const W: &str = r#"xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main""#;

#[test]
fn a_word_document_has_headings_lists_and_tables() {
    let styles = format!(
        r#"<w:styles {W}><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
           <w:style w:styleId="Own"><w:name w:val="mine"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>"#
    );
    let paragraph = |about: &str, text: &str| format!("<w:p><w:pPr>{about}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>");
    let body = [
        paragraph(r#"<w:pStyle w:val="Own"/>"#, "Harbour"),
        paragraph("", "Low &amp; high water.<w:br/>Twice a day."),
        "<w:p><w:r><w:t>Kept </w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>".to_owned(),
        paragraph(r#"<w:pStyle w:val="berschrift2"/>"#, "Lanterns"),
        paragraph("<w:numPr/>", "oil"),
        "<w:sdt><w:sdtContent><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a|b</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl></w:sdtContent></w:sdt>".to_owned(),
    ];
    let body = body.concat().replace("<w:br/>", "</w:t><w:br/><w:t>");
    let document = format!("<w:document {W}><w:body>{body}</w:body></w:document>");
    let core = r#"<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The "log"</dc:title><dc:creator>Ann</dc:creator></c>"#;
    let bytes = archive(&[("word/styles.xml", &styles), ("docProps/core.xml", core), ("word/document.xml", &document)]);
    let expected = "---\ntitle: \"The \\\"log\\\"\"\nauthor: \"Ann\"\n---\n\n# Harbour\n\nLow & high water.\nTwice a day.\n\n\
                    Kept\n\n## Lanterns\n\n- oil\n\n| a b |  |\n|---|---|\n\n";
    assert_eq!(text(Format::Docx, &bytes), expected);
}

#[test]
fn the_text_of_a_word_document_is_no_markdown() {
    let paragraphs = ["# 5 items", "#hash C#", "1. a", "- b", "a * b *c* d_e [[x]]", "%% a <b> & &lt; <!--", "5 > 4"];
    let escaped = [
        "\\# 5 items",
        "\\#hash C#",
        "1\\. a",
        "\\- b",
        "a * b \\*c\\* d_e \\[\\[x]]",
        "%% a \\<b> & \\&lt; \\<!--",
        "5 > 4",
    ];
    let of =
        |text: &&str| format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", text.replace('&', "&amp;").replace('<', "&lt;"));
    let body: String = paragraphs.iter().map(of).collect();
    let document = format!("<w:document {W}><w:body>{body}</w:body></w:document>");
    let expected = escaped.map(|text| format!("{text}\n\n")).concat();
    assert_eq!(text(Format::Docx, &archive(&[("word/document.xml", &document)])), expected);
}

#[test]
fn a_word_document_is_read_once_and_with_its_notes() {
    let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let body = [
        format!(r#"<w:p>{}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>"#, run("Claim")),
        format!(
            "<w:p>{}<w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p>{1}</w:p></w:txbxContent></mc:Choice>\
             <mc:Fallback><w:txbxContent><w:p>{1}</w:p></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>{2}</w:p>",
            run("before"), run("box"), run("after")
        ),
        format!("<w:p><w:moveFrom>{}</w:moveFrom></w:p>", run("gone")),
        format!(
            "<w:tbl><w:tr><w:tc><w:p>{}</w:p><w:tbl><w:tr><w:tc><w:p>{}</w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>",
            run("outer"), run("inner")
        ),
    ]
    .concat();
    let document = format!(r#"<w:document {W} xmlns:mc="mc"><w:body>{body}</w:body></w:document>"#);
    let notes = format!(
        r#"<w:footnotes {W}><w:footnote w:id="0"><w:p/></w:footnote><w:footnote w:id="2"><w:p>{}</w:p></w:footnote></w:footnotes>"#,
        run("Its source.")
    );
    let expected = "Claim[^2]\n\n[^2]: Its source.\n\nbefore\nbox\nafter\n\n| outer inner |\n|---|\n\n";
    assert_eq!(
        text(Format::Docx, &archive(&[("word/document.xml", &document), ("word/footnotes.xml", &notes)])),
        expected
    );
}

#[test]
fn a_book_is_read_in_the_order_of_its_spine() {
    let container = r#"<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"#;
    let opf = r#"<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Tides</dc:title></metadata>
        <manifest><item id="two" href="text/two.xhtml"/><item id="one" href="../one%20.xhtml"/><item id="no" href="gone.xhtml"/><item id="deep" href="deep.xhtml"/></manifest>
        <spine><itemref idref="one"/><itemref idref="deep"/><itemref idref="two"/><itemref idref="no"/></spine></package>"#;
    let bytes = archive(&[
        ("META-INF/container.xml", container),
        ("OEBPS/book.opf", opf),
        ("OEBPS/text/two.xhtml", "<html><body><h1>Neap</h1><p>Second.</p></body></html>"),
        ("OEBPS/deep.xhtml", &"<div>".repeat(600)),
        ("one .xhtml", "<html><body><h1>Spring</h1><p>First.</p></body></html>"),
    ]);
    let (text, remark) = read(Format::Epub, &bytes).unwrap();
    assert_eq!(text, "---\ntitle: \"Tides\"\n---\n\n# Spring\n\nFirst.\n\n# Neap\n\nSecond.\n\n");
    assert_eq!(remark.as_deref(), Some("1 of its pages are not there, 1 of its pages cannot be read"));
}

/// An archive in which the content of a part is not what its checksum says.
fn damaged(parts: &[(&str, &str)], content: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file(*name, stored).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    let mut bytes = zip.finish().unwrap().into_inner();
    let at = bytes.windows(content.len()).position(|part| part == content.as_bytes()).unwrap();
    bytes[at] ^= 1;
    bytes
}

#[test]
fn a_part_that_cannot_be_read_leaves_the_others() {
    let opf = r#"<package><manifest><item id="1" href="1.xhtml"/><item id="2" href="2.xhtml"/><item id="3" href="3.xhtml"/></manifest>
        <spine><itemref idref="1"/><itemref idref="2"/><itemref idref="3"/></spine></package>"#;
    let bytes = damaged(
        &[
            ("META-INF/container.xml", r#"<container><rootfile full-path="book.opf"/></container>"#),
            ("book.opf", opf),
            ("1.xhtml", "<p>First.</p>"),
            ("2.xhtml", "<p>Second.</p>"),
            ("3.xhtml", "<p>Third.</p>"),
        ],
        "Second",
    );
    let (text, remark) = read(Format::Epub, &bytes).unwrap();
    assert_eq!(text, "First.\n\nThird.\n\n");
    assert_eq!(remark.as_deref(), Some("1 of its pages cannot be read"));

    let document = format!("<w:document {W}><w:body><w:p><w:r><w:t>Text.</w:t></w:r></w:p></w:body></w:document>");
    let notes = format!("<w:footnotes {W}><w:footnote w:id=\"2\"/></w:footnotes>");
    let parts = [
        ("docProps/core.xml", "<c><title>A & B</title></c>"),
        ("word/styles.xml", "<w:styles>"),
        ("word/footnotes.xml", &notes),
        ("word/document.xml", &document),
    ];
    assert_eq!(self::text(Format::Docx, &damaged(&parts, "footnotes>")), "Text.\n\n");
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_refused() {
    let document = format!("<w:document {W}><w:body>{}</w:body></w:document>", " ".repeat(9 * MOST));
    let bytes = archive(&[("word/document.xml", &document)]);
    assert!(bytes.len() < MOST / 10, "{} bytes", bytes.len());
    let Err(Unreadable::Broken { why, .. }) = read(Format::Docx, &bytes) else { panic!() };
    assert!(why.contains("unpacks to too much"), "{why}");
}

#[test]
fn entities_that_multiply_are_refused() {
    let mut entities = String::from("<!DOCTYPE d [<!ENTITY a0 \"aaaaaaaaaa\">");
    for n in 1..10 {
        entities += &format!("<!ENTITY a{n} \"{}\">", format!("&a{};", n - 1).repeat(10));
    }
    let document =
        format!("{entities}]><w:document {W}><w:body><w:p><w:r><w:t>&a9;</w:t></w:r></w:p></w:body></w:document>");
    assert!(matches!(
        read(Format::Docx, &archive(&[("word/document.xml", &document)])),
        Err(Unreadable::Broken { .. })
    ));
}

#[test]
fn what_is_too_long_is_cut_and_said() {
    let canvas = serde_json::json!({"nodes": [{"type": "text", "text": "ä".repeat(100)}]}).to_string();
    let mut out = Vec::new();
    let remark = convert(Format::Canvas, canvas.as_bytes(), 15, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "ä".repeat(7));
    assert_eq!(remark.as_deref(), Some("only the first 15 bytes of its text are searched"));
}

#[test]
fn what_is_no_document_is_said_to_be_none() {
    for format in [Format::Docx, Format::Epub, Format::Pdf] {
        assert!(matches!(read(format, b"# A note\n"), Err(Unreadable::Broken { .. })), "{format:?}");
    }
    assert_eq!(read(Format::Markdown, b"# A note\n"), Err(Unreadable::NotConverted));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_web_page_or_canvas_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
        for format in [Format::Html, Format::Canvas, Format::Docx, Format::Epub] {
            let _ = read(format, &bytes);
        }
    }
}

/// The text of a page's body.
fn shown(body: &str) -> String {
    text(Format::Html, format!("<html><body>{body}</body></html>").as_bytes()).trim().to_owned()
}

#[test]
fn pages_that_are_xml_are_read_as_xml() {
    let page = |head: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head>{head}</head><body><h1>One</h1>\
             <p>All <i class='a>b'/>words</p><!-- <b/> --><img src=\"x.png\"/>{}<p>Last.</p></body></html>",
            "<div class=\"sep\"/>".repeat(600)
        )
    };
    for head in ["<title/>", "<script src=\"x.js\"/>", "<style/>", "<title>One</title>"] {
        let read = text(Format::Html, page(head).as_bytes());
        assert!(read.contains("# One\n\nAll words") && read.ends_with("Last.\n"), "{head}: {read}");
    }
    assert!(!shown("<p>a<i/>b</p>").contains("a</i>"));
}

#[test]
fn pages_that_declare_their_encoding_as_xml_does_are_read() {
    for (encoding, bytes) in [("windows-1251", b"\xec\xe8\xf0"), ("KOI8-R", b"\xcd\xc9\xd2")] {
        let page = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?><html><body><p>");
        assert!(text(Format::Html, &[page.as_bytes(), bytes].concat()).contains("мир"), "{encoding}");
    }
}

#[test]
fn blocks_of_code_stay_as_they_are() {
    let cases = [
        ("<pre># apt update\n- item &lt;vector&gt;</pre><p>done", "```\n# apt update\n- item <vector>\n```\n\ndone"),
        (
            "<div class='highlight'><pre><span></span># a\n<span class='n'>x</span> = `y`</pre></div>",
            "```\n# a\nx = `y`\n```",
        ),
        ("<pre>```\nx</pre>", "````\n```\nx\n````"),
        (
            "<pre><code class='language-rust'>use <a href='x'>HashMap</a>&lt;<b>K</b>, $V&gt;;<br>#[a]</code></pre>",
            "```rust\nuse HashMap<K, $V>;\n#[a]\n```",
        ),
        ("<pre><code><a href='#cb1-1'></a>one\n<a href='#cb1-2'></a>two</code></pre>", "```\none\ntwo\n```"),
        ("<p>Call <code>f(<a href='x'><b>T</b></a>, $1)</code>.</p>", "Call `f(T, $1)`."),
        ("<pre> </pre><p>x", "x"),
    ];
    for (page, expected) in cases {
        assert_eq!(shown(page), expected, "{page}");
    }
}

#[test]
fn signs_of_a_page_are_no_markdown() {
    let cases = [
        ("<p>Plans $10/$20 &#36;5", "Plans \\$10/\\$20 \\$5"),
        ("<p>colour #fff000, C#, a # b, &#35;x &#228; &num;5", "colour \\#fff000, C#, a # b, \\#x ä \\#5"),
        ("<p># five", "\\# five"),
        ("<p><a href='/x?a=$b#c'>to</a>", "[to](/x?a=\\$b#c)"),
    ];
    for (page, expected) in cases {
        assert_eq!(shown(page), expected, "{page}");
    }
}

#[test]
fn the_title_is_that_of_the_page() {
    for (page, title) in [
        ("<head><!-- <title>Old</title> --><title>Real &amp; new</title></head><p>x", "Real & new"),
        ("<head><script>'<title>no</title>'</script><title>C# for $5</title></head><p>x", "C# for $5"),
        ("<head></head><body><svg><title>Icon</title></svg><p>x", ""),
    ] {
        let read = text(Format::Html, format!("<!doctype html><html>{page}</body></html>").as_bytes());
        let expected = if title.is_empty() { String::new() } else { format!("---\ntitle: \"{title}\"\n---\n\n") };
        assert_eq!(read, format!("{expected}x\n"), "{page}");
    }
}

#[test]
fn a_page_without_text_is_told() {
    let remark = |body: &str| {
        read(Format::Html, format!("<html><head><title>Wiki</title></head>{body}</html>").as_bytes()).unwrap().1
    };
    assert!(remark("<body><script>[{\"text\":\"Turn the heap\"}]</script></body>").unwrap().contains("no text"));
    assert_eq!(remark("<body><p>x</body>"), None);
}

#[test]
fn what_a_page_hides_or_holds_is_not_read() {
    let hidden = "<div hidden>a</div><p style='color:red; DISPLAY : none'>b</p><p hidden='until-found'>c <span hidden>d</span></p>";
    assert_eq!(shown(hidden), "c");
    // Whatever its name; but not a page as a whole, which a script shows.
    let hidden = "<html hidden><title hidden>t</title><body style='display:none'><center hidden>a</center>\
        <FIELDSET style='display:none'>b</FIELDSET><x-box hidden>d</x-box><dl><dt>e</dt><dd hidden>f</dd></dl>";
    assert_eq!(shown(hidden), "e");
    assert_eq!(shown("<p><ruby>東<rp>(</rp><rt>とう</rt>京<rt>きょう</rt></ruby>"), "東京");
    let held = "<p>An <img src='data:image/png;base64,AAAA' alt='okapi'><img src='data:image/png;base64,AAAA'> <a href='data:text/plain,x'>here</a>";
    assert_eq!(shown(held), "An okapi here");
}

#[test]
fn headings_and_links_around_blocks_are_whole() {
    let cases = [
        ("<h1>Chapter 1<br/>The Long Title</h1><p>x", "# Chapter 1 The Long Title\n\nx"),
        ("<h2><div>a</div><div>b</div></h2>", "## a b"),
        ("<h2><a href='/n'><h3>inner</h3></a></h2>x", "## [inner](/n)\n\nx"),
        ("<a href='/n'><h3>Card title</h3></a>x", "### [Card title](/n)\n\nx"),
        ("<a href='/n'><div><h3>Card title</h3><p>Card text</p></div></a>", "### Card title\n\nCard text"),
        ("<b><p>bold para</p><p>other</p></b>", "bold para\n\nother"),
        ("<p><b>bold</b> <a href='/n'><i>it</i></a>", "**bold** [*it*](/n)"),
    ];
    for (page, expected) in cases {
        assert_eq!(shown(page), expected, "{page}");
    }
}

#[test]
fn a_word_document_is_found_by_its_relations() {
    let relation = |kind: &str, target: &str| {
        let of = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        format!("<Relationships><Relationship Id=\"r\" Type=\"{of}/{kind}\" Target=\"{target}\"/></Relationships>")
    };
    let styles = format!(
        r#"<w:styles {W}><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>
           <w:style w:styleId="Corp1"><w:name w:val="Corp 1"/><w:basedOn w:val="H1"/></w:style>
           <w:style w:styleId="Toc"><w:name w:val="TOC Heading"/><w:basedOn w:val="H1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
           <w:style w:styleId="Loop"><w:name w:val="loop"/><w:basedOn w:val="Loop"/></w:style>
           <w:style w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>"#
    );
    let paragraph = |style: &str, text: &str| {
        format!(r#"<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#)
    };
    let body = [
        paragraph("T", "My $ title"),
        paragraph("Corp1", "Method"),
        paragraph("Toc", "Contents"),
        paragraph("Loop", "x"),
    ];
    let document = format!("<w:document {W}><w:body>{}</w:body></w:document>", body.concat());
    let bytes = archive(&[
        ("_rels/.rels", &relation("officeDocument", "/word/document2.xml")),
        ("word/_rels/document2.xml.rels", &relation("styles", "styles2.xml")),
        ("word/styles2.xml", &styles),
        ("word/document2.xml", &document),
    ]);
    let expected = "---\ntitle: \"My $ title\"\n---\n\n# My \\$ title\n\n# Method\n\nContents\n\nx\n\n";
    assert_eq!(text(Format::Docx, &bytes), expected);
}

#[test]
fn cells_in_controls_are_read_and_hidden_text_is_not() {
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let run = |about: &str, text: &str| format!("<w:r><w:rPr>{about}</w:rPr><w:t>{text}</w:t></w:r>");
    let body = [
        format!("<w:tbl><w:tr>{}<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:tr></w:tbl>", cell("one"), cell("two")),
        format!("<w:p>{}{}{}</w:p>", run("", "seen"), run("<w:vanish/>", "gone"), run("<w:vanish w:val=\"0\"/>", " too")),
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
            .to_owned(),
    ];
    let document = format!("<w:document {W}><w:body>{}</w:body></w:document>", body.concat());
    let expected = "| one | two |\n|---|---|\n\nseen too\n\n東\n\n";
    assert_eq!(text(Format::Docx, &archive(&[("word/document.xml", &document)])), expected);
}

#[test]
fn what_stands_beside_the_text_of_a_word_document_is_read_where_it_belongs() {
    let of = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |(kind, target): &(&str, &str)| format!("<Relationship Type=\"{of}/{kind}\" Target=\"{target}\"/>");
    let relations =
        [("header", "h1.xml"), ("header", "h2.xml"), ("footer", "f1.xml"), ("footer", "f2.xml"), ("comments", "c.xml")];
    let relations = format!("<Relationships>{}</Relationships>", relations.iter().map(relation).collect::<String>());
    let paragraph = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let part = |element: &str, text: &str| format!("<w:{element} {W}>{}</w:{element}>", paragraph(text));
    let body = [
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>oil</w:t></w:r><w:r><w:commentReference w:id=\"0\"/></w:r></w:p>"
            .to_owned(),
        paragraph("End."),
    ];
    let document = format!("<w:document {W}><w:body>{}</w:body></w:document>", body.concat());
    let comments = format!("<w:comments {W}><w:comment w:id=\"0\">{}</w:comment></w:comments>", paragraph("# Which?"));
    let bytes = archive(&[
        ("word/_rels/document.xml.rels", &relations),
        ("word/h1.xml", &part("hdr", "Reference HX-4711")),
        ("word/h2.xml", &part("hdr", "Reference HX-4711")),
        ("word/f1.xml", &part("ftr", "12")),
        ("word/f2.xml", &part("ftr", "Draft")),
        ("word/c.xml", &comments),
        ("word/document.xml", &document),
    ]);
    assert_eq!(text(Format::Docx, &bytes), "Reference HX-4711\n\nDraft\n\n- oil\n\n\\# Which?\n\nEnd.\n\n");
    // One with a password is a file of another format.
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let locked = [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".as_slice(), &[0; 600], &name].concat();
    assert_eq!(read(Format::Docx, &locked), Err(Unreadable::Encrypted));
}

#[test]
fn hyphens_that_are_shown_only_where_a_line_ends_part_no_words() {
    assert_eq!(shown("<p>Hafen&shy;be\u{ad}hörde &#173;x"), "Hafenbehörde x");
    let document = format!(
        "<w:document {W}><w:body><w:p><w:r><w:t>Hafen\u{ad}be</w:t><w:softHyphen/><w:t>hörde</w:t></w:r></w:p></w:body></w:document>"
    );
    assert_eq!(text(Format::Docx, &archive(&[("word/document.xml", &document)])), "Hafenbehörde\n\n");
}
