//! Layers of a user's catalogue.

use mountmark_plan::Catalogue;

/// What is said of a user's layer called xfs.
fn fault(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("layers")).unwrap();
    std::fs::write(folder.path().join("layers/xfs.toml"), text).unwrap();
    Catalogue::load(Some(folder.path())).unwrap_err().to_string()
}

#[test]
fn a_layer_has_no_file_systems_name() {
    let layer = mountmark_catalog::files("layers").find(|file| file.path().ends_with("luks.toml")).unwrap();
    let text = layer.contents_utf8().unwrap().replacen("name = \"luks\"", "name = \"xfs\"", 1);
    let said = fault(&text);
    assert!(
        said.contains("layers/xfs.toml") && said.contains("a file system and a layer are both called \"xfs\""),
        "{said}"
    );
}
