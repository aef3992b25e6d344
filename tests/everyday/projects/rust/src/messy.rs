/// Returns one.
pub fn   messy( )->u8{1}
