//! Numbers of bytes as people read them.

/// Bytes for people.
pub fn human(bytes: impl Into<u128>) -> String {
    let bytes: u128 = bytes.into();
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0;
    let mut scale: u128 = 1;
    while unit + 1 < units.len() && bytes >= scale * 1024 {
        scale *= 1024;
        unit += 1;
    }
    if unit == 0 {
        return format!("{bytes} B");
    }
    let tenths = bytes.saturating_mul(10) / scale;
    format!("{}.{} {}", tenths / 10, tenths % 10, units[unit])
}
