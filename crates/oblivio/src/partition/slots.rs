//! Keys of rows while they stream by.

use std::collections::HashMap;

/// The keys that rows have, numbered as they come: a *slot* each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slots {
    width: usize,
    places: HashMap<Vec<u32>, usize>,
    pub(crate) keys: Vec<Vec<u32>>,
    pub(crate) mass: Vec<f64>,
    pub(crate) counts: Vec<usize>,
}

impl Slots {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// These keys in this order; `None` if one comes twice.
    pub(crate) fn of(width: usize, keys: &[Vec<u32>], counts: Vec<usize>) -> Option<Self> {
        let mut slots = Self::new(width);
        for (slot, key) in keys.iter().enumerate() {
            if slots.slot_of(key) != slot {
                return None;
            }
        }
        (counts.len() == keys.len()).then_some(Self { counts, ..slots })
    }

    /// The slot of the row whose key lies at this place among `keys`.
    pub(crate) fn slot(&mut self, keys: &[u32], row: usize) -> usize {
        self.slot_of(&keys[row * self.width..(row + 1) * self.width])
    }

    pub(crate) fn slot_of(&mut self, key: &[u32]) -> usize {
        if let Some(&slot) = self.places.get(key) {
            return slot;
        }
        let slot = self.keys.len();
        self.places.insert(key.to_vec(), slot);
        self.keys.push(key.to_vec());
        self.mass.push(0.0);
        self.counts.push(0);
        slot
    }
}
