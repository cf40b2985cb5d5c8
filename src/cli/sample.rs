//! The sample vault of `situated try`, compiled in. The list is checked against `tests/vault/` by the test below.

macro_rules! note {
    ($path:literal) => {
        ($path, include_str!(concat!("../../tests/vault/", $path)))
    };
}

/// Path in the vault, and text.
pub(super) const FILES: &[(&str, &str)] = &[
    note!(".obsidian/app.json"),
    note!(".situatedignore"),
    note!("Archive/2025 Feasibility.md"),
    note!("Archive/Cable option.md"),
    note!("Archive/Old mooring design.md"),
    note!("Daily/2026-08-17.md"),
    note!("Daily/2026-08-24.md"),
    note!("Daily/2026-09-02.md"),
    note!("Daily/2026-09-09.md"),
    note!("Daily/2026-09-21.md"),
    note!("Daily/2026-09-29.md"),
    note!("Daily/2026-10-05.md"),
    note!("Daily/2026-10-13.md"),
    note!("Daily/2026-10-15.md"),
    note!("Daily/2026-10-20.md"),
    note!("Daily/2026-10-28.md"),
    note!("Daily/2026-11-02.md"),
    note!("Daily/2026-11-03.md"),
    note!("Daily/2026-11-05.md"),
    note!("Daily/2026-11-10.md"),
    note!("Daily/2026-11-12.md"),
    note!("Daily/2026-11-13.md"),
    note!("Journal/2026_10_26.md"),
    note!("Journal/2026_11_05.md"),
    note!("Journal/2026_11_09.md"),
    note!("Meetings/2026-08-19 Kickoff.md"),
    note!("Meetings/2026-09-16 Site walk.md"),
    note!("Meetings/2026-10-14 Review.md"),
    note!("Meetings/2026-10-30 Insurance call.md"),
    note!("Meetings/2026-11-04 Barge charter.md"),
    note!("Meetings/2026-11-11 Standup.md"),
    note!("Notes/Acoustic modem settings.md"),
    note!("Notes/Battery sizing.md"),
    note!("Notes/Bewuchs an Sensoren.md"),
    note!("Notes/Boat trailer checklist.md"),
    note!("Notes/Ersatzteile bestellen.md"),
    note!("Notes/Ferry timetable.md"),
    note!("Notes/Flashing firmware.md"),
    note!("Notes/Gezeitenkalender lesen.md"),
    note!("Notes/Glossary.md"),
    note!("Notes/Insurance claims.md"),
    note!("Notes/Names of rocks.md"),
    note!("Notes/Old radio plan.markdown"),
    note!("Notes/Protokoll Hafenamt.md"),
    note!("Notes/Query cookbook.md"),
    note!("Notes/Reading - Mooring by hand.md"),
    note!("Notes/Reading - Slow water.md"),
    note!("Notes/Sealing a housing.md"),
    note!("Notes/Sourdough.md"),
    note!("Notes/Tidal resource primer.md"),
    note!("Notes/Time sync.md"),
    note!("Notes/Untitled.md"),
    note!("Notes/wiring.txt"),
    note!("Notes/Вопросы к испытаниям.md"),
    note!("Notes/Гидроакустика.md"),
    note!("Notes/Уха на пирсе.md"),
    note!("Notes/ファームウェア更新手順.md"),
    note!("Notes/出張メモ.md"),
    note!("Notes/潮汐の基礎.md"),
    note!("People/Ines Caldeira.md"),
    note!("People/Lena Sorokina.md"),
    note!("People/Mara Ellwood.md"),
    note!("People/Owen Tarrant.md"),
    note!("People/Piet Oosterwal.md"),
    note!("People/Sunniva Brekke.md"),
    note!("People/Tobias Rehn.md"),
    note!("People/Yuki Hanamori.md"),
    note!("Projects/Antifouling trial.md"),
    note!("Projects/Data pipeline.md"),
    note!("Projects/Lagoon.md"),
    note!("Projects/Node v2.md"),
    note!("Projects/Outreach day.md"),
    note!("Projects/Phase 2 proposal.md"),
    note!("Projects/Winter deployment.md"),
    note!("Scratch/Loose ends.md"),
    note!("Templates/Daily template.md"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    fn collect(folder: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn the_list_is_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vault");
        let mut found = BTreeMap::new();
        if root.exists() {
            collect(&root, &root, &mut found);
        }
        let listed: BTreeMap<String, String> =
            super::FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
        if names(&listed) != names(&found) {
            let path = |name: &str| format!("../../tests/vault/{name}");
            let line = |name: &String| format!("    ({name:?}, include_str!({:?})),\n", path(name));
            let lines: String = found.keys().map(line).collect();
            panic!("src/cli/sample.rs must list what tests/vault holds:\n{lines}");
        }
        assert_eq!(listed, found);
    }
}
