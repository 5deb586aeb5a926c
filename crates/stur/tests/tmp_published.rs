//! temporary
#[test]
fn published() {
    let Ok(dir) = std::env::var("STUR_EX") else { return };
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let src = std::fs::read_to_string(&path).unwrap();
        match dastac_stur::load(&src) {
            Ok((p, w)) => {
                println!("{path:?}: {} rules", p.rules.len());
                for w in w { println!("    {} {} {:?}", w.code, w.message, w.hint); }
            }
            Err(e) => { println!("{path:?} FAILED"); for w in e { println!("    {} {} {:?}", w.code, w.message, w.hint); } }
        }
        let (f, _) = dastac_stur::parse(&src);
        let (g, d) = dastac_stur::parse(&f.to_string());
        assert!(d.is_empty());
        assert_eq!(f, g);
    }
}
