//! Examples compared with NumPy, where Python has it.

use std::process::Command;

#[test]
fn examples_agree_with_numpy() {
    let folder = std::env::temp_dir().join(format!("dastac-numpy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = crate::root().join("tests/it/compare_with_numpy.py");
    let output = Command::new("python3")
        .env("DASTAC_CACHE_DIR", "off")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_dastac"))
        .arg(crate::root().join("examples"))
        .arg(&folder)
        .output();
    std::fs::remove_dir_all(&folder).unwrap();
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(77) => eprintln!("skipped: {}", text.trim()),
        code => assert_eq!(code, Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr)),
    }
}
