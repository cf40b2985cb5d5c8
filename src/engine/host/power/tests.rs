use super::*;

/// A folder with supplies: name, and files with their content.
fn folder(supplies: &[(&str, &[(&str, &str)])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, files) in supplies {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        for (file, text) in *files {
            std::fs::write(dir.path().join(name).join(file), format!("{text}\n")).unwrap();
        }
    }
    dir
}

#[test]
fn machines() {
    const OFF: (&str, &[(&str, &str)]) = ("AC", &[("type", "Mains"), ("online", "0")]);
    const ON: (&str, &[(&str, &str)]) = ("AC", &[("type", "Mains"), ("online", "1")]);
    let on_battery = |percent| Supply { on_battery: true, percent };
    let cases: [(&[(&str, &[(&str, &str)])], Supply, Brake); 8] = [
        (&[], Supply::default(), Brake::Off),
        (&[ON], Supply::default(), Brake::Off),
        (
            &[OFF, ("BAT0", &[("type", "Battery"), ("status", "Discharging"), ("capacity", "81")])],
            on_battery(Some(81)),
            Brake::Off,
        ),
        (
            &[OFF, ("BAT0", &[("type", "Battery"), ("status", "Discharging"), ("capacity", "49")])],
            on_battery(Some(49)),
            Brake::Bulk,
        ),
        (
            &[OFF, ("BAT0", &[("type", "Battery"), ("status", "Discharging"), ("capacity", "19")])],
            on_battery(Some(19)),
            Brake::All,
        ),
        (
            &[ON, ("BAT0", &[("type", "Battery"), ("status", "Charging"), ("capacity", "5")])],
            Supply::default(),
            Brake::Off,
        ),
        // A mouse is no reason, nor a battery that says nothing.
        (
            &[("mouse", &[("type", "Battery"), ("scope", "Device"), ("status", "Discharging"), ("capacity", "3")])],
            Supply::default(),
            Brake::Off,
        ),
        (&[OFF, ("BAT0", &[("type", "Battery"), ("status", "Discharging")])], on_battery(None), Brake::Off),
    ];
    for (supplies, expected, brake) in cases {
        let dir = folder(supplies);
        assert_eq!((supply(dir.path()), expected.brake()), (expected, brake), "{supplies:?}");
    }
    assert_eq!(supply(Path::new("/nowhere")), Supply::default());
}
