use std::{
    collections::VecDeque,
    sync::Arc,
};

mod inner;

/// A queue.
pub struct Queue<T: Clone> {
    items: VecDeque<T>,
}

pub struct Meters(pub f64);

pub const LIMIT: usize = 10;

impl<T> Queue<T>
where
    T: Clone + Send,
{
    pub async fn push(&mut self, item: T) -> Result<(), Error> {
        fn helper() {}
        Ok(())
    }
}

pub trait Drain {
    type Item;
    fn drain(&mut self) -> Vec<Self::Item>;
    fn twice(&mut self) { self.drain(); }
}

macro_rules! go { () => {} }

extern "C" { fn abs(x: i32) -> i32; }

#[cfg(test)]
mod tests {
    #[test]
    fn works() {}
}
