use super::*;

const ENGLISH: &str = "The launch slipped from March to May because the contract of the vendor was late.";
const GERMAN: &str = "Der Start verschob sich von März auf Mai, weil der Vertrag des Lieferanten zu spät kam.";
const RUSSIAN: &str = "Запуск отложили с марта на май, потому что договор с поставщиком опоздал.";
const CHINESE: &str = "由于供应商的合同迟迟没有签署，发布时间从三月推迟到五月。项目负责人将在四月重新谈判，并向管理层汇报预算情况和风险。";
const JAPANESE: &str =
    "ベンダーとの契約が遅れたため、リリースは三月から五月に延期された。担当者は四月に再交渉する予定である。";
const KOREAN: &str = "공급업체 계약이 늦어져 출시가 3월에서 5월로 연기되었고 담당자가 4월에 다시 협상한다.";

#[test]
fn scripts_are_told_apart() {
    let texts = [ENGLISH, RUSSIAN, CHINESE, JAPANESE, KOREAN];
    for (i, caption) in texts.iter().enumerate() {
        for (j, note) in texts.iter().enumerate() {
            assert_eq!(other_script(caption, note), i != j, "{caption} in {note}");
        }
    }
    assert!(!other_script(ENGLISH, "12 + 30 = 42"), "a note without letters says nothing");
    let code = format!("{CHINESE}\nfn main() {{ let vendor = Vendor::new(); vendor.renegotiate(); }}");
    assert!(!other_script(CHINESE, &code));
}

#[test]
fn languages_of_one_script_are_told_apart() {
    assert!(other_language(GERMAN, ENGLISH, ENGLISH));
    assert!(other_language(ENGLISH, GERMAN, GERMAN));
    assert!(!other_language(GERMAN, ENGLISH, GERMAN), "a passage may be in another language than its note");
    assert!(!other_language(GERMAN, GERMAN, GERMAN));
    assert!(!other_language("Atlas: Risiken.", ENGLISH, ENGLISH), "too short to say");
    let polish = "Uruchomienie przesunęło się z marca na maj, ponieważ umowa z dostawcą była spóźniona o miesiąc.";
    let czech = "Spuštění se posunulo z března na květen, protože smlouva s dodavatelem přišla pozdě o měsíc.";
    assert!(!other_language(polish, polish, polish));
    assert!(!other_language(czech, czech, czech));
    assert!(other_language(GERMAN, czech, czech));
}
