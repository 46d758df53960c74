//! Rows of a Gram matrix with their columns in the order that shrinking puts them in.

use oblivio_base::{Result, Watch};
use rayon::prelude::*;

use crate::gram::Gram;

/// The most orders that are remembered; past them nothing is shrunk.
const MOST_ORDERS: usize = 64;

/// One order of the columns: which one stands where. It differs from the order before in its first `changed` places.
struct Order {
    columns: Vec<u32>,
    changed: usize,
}

/// The rows of a Gram matrix: all in memory, or the latest used.
///
/// Shrinking sorts the active columns to the front. A row follows when it is next asked for, so that a sort costs nothing for rows
/// that are never used again, and all the loops of SMO run over contiguous memory.
pub(super) struct Rows<'a> {
    len: usize,
    values: Vec<f64>,
    /// For each slot of `values` the order that its columns are in.
    slot_order: Vec<usize>,
    orders: Vec<Order>,
    spare: Vec<f64>,
    cache: Option<Cache<'a>>,
}

/// Which rows are in memory, where not all are.
struct Cache<'a> {
    gram: &'a dyn Gram,
    slot_of: Vec<Option<u32>>,
    /// The row in each slot, and when it was last used.
    held: Vec<(usize, u64)>,
    slots: usize,
    clock: u64,
}

impl<'a> Rows<'a> {
    /// All rows of a symmetric matrix of n × n entries.
    pub(super) fn whole(values: Vec<f64>, len: usize) -> Self {
        Self {
            len,
            values,
            slot_order: vec![0; len],
            orders: vec![Order::first(len)],
            spare: vec![0.0; len],
            cache: None,
        }
    }

    /// Rows computed when they are asked for; the latest used are kept, as many as fit in so many bytes.
    pub(super) fn cached(gram: &'a dyn Gram, bytes: usize) -> Self {
        let len = gram.len();
        let slots = (bytes / (8 * len.max(1))).clamp(2, len.max(2));
        let mut values = Vec::new();
        // Reserved at once, for a vector that grows would hold its rows twice; where that fails it grows.
        let _ = values.try_reserve_exact(slots * len);
        Self {
            len,
            values,
            slot_order: Vec::new(),
            orders: vec![Order::first(len)],
            spare: vec![0.0; len],
            cache: Some(Cache {
                gram,
                slot_of: vec![None; len],
                held: Vec::new(),
                slots,
                clock: 0,
            }),
        }
    }

    /// The column that stands in each place.
    pub(super) fn order(&self) -> &[u32] {
        &self.orders[self.orders.len() - 1].columns
    }

    /// Puts the active columns in another order; `false` if too many orders are remembered already.
    pub(super) fn reorder(&mut self, columns: Vec<u32>, changed: usize) -> bool {
        if self.orders.len() >= MOST_ORDERS {
            return false;
        }
        self.orders.push(Order { columns, changed });
        true
    }

    /// The slot of the row of this column, brought into the present order.
    pub(super) fn fetch(&mut self, row: usize) -> usize {
        let slot = self.load(row);
        let (from, to) = (self.slot_order[slot], self.orders.len() - 1);
        if from < to {
            let changed = self.orders[from + 1..].iter().map(|o| o.changed).max();
            let changed = changed.unwrap_or(0);
            let values = &mut self.values[slot * self.len..][..changed];
            for (value, &column) in values.iter().zip(&self.orders[from].columns) {
                self.spare[column as usize] = *value;
            }
            for (value, &column) in values.iter_mut().zip(&self.orders[to].columns) {
                *value = self.spare[column as usize];
            }
            self.slot_order[slot] = to;
        }
        slot
    }

    /// The values of a slot.
    pub(super) fn at(&self, slot: usize) -> &[f64] {
        &self.values[slot * self.len..][..self.len]
    }

    /// The matrix, if all of it is in memory, with its columns in their first order.
    pub(super) fn into_values(mut self) -> Vec<f64> {
        if self.cache.is_some() {
            return Vec::new();
        }
        for (row, &order) in self.values.chunks_exact_mut(self.len).zip(&self.slot_order) {
            if order > 0 {
                self.spare.copy_from_slice(row);
                for (value, &column) in self.spare.iter().zip(&self.orders[order].columns) {
                    row[column as usize] = *value;
                }
            }
        }
        self.values
    }

    fn load(&mut self, row: usize) -> usize {
        let Some(cache) = &mut self.cache else {
            return row;
        };
        cache.clock += 1;
        if let Some(slot) = cache.slot_of[row] {
            cache.held[slot as usize].1 = cache.clock;
            return slot as usize;
        }
        let slot = if cache.held.len() < cache.slots {
            cache.held.push((row, cache.clock));
            self.slot_order.push(0);
            self.values.resize(self.values.len() + self.len, 0.0);
            cache.held.len() - 1
        } else {
            let used = cache.held.iter().enumerate();
            let oldest = used.min_by_key(|(_, (_, time))| *time);
            let slot = oldest.map_or(0, |(slot, _)| slot);
            cache.slot_of[cache.held[slot].0] = None;
            cache.held[slot] = (row, cache.clock);
            slot
        };
        cache.slot_of[row] = Some(slot as u32);
        let values = &mut self.values[slot * self.len..][..self.len];
        cache.gram.row_into(row, values);
        self.slot_order[slot] = 0;
        slot
    }

    /// The product of the matrix and a vector with few entries, given and returned by columns in their first order.
    ///
    /// Rows are added up in the order their columns are in, each order on its own, in fixed groups: the same bits for any number
    /// of threads.
    pub(super) fn product(&self, entries: &[(usize, f64)], watch: &Watch) -> Result<Vec<f64>> {
        if let Some(cache) = &self.cache {
            let missing = |row: usize| cache.slot_of[row].is_none();
            if entries.iter().any(|(row, _)| missing(*row)) {
                let mut vector = vec![0.0; self.len];
                for &(row, entry) in entries {
                    vector[row] = entry;
                }
                return cache.gram.multiply(&vector, watch);
            }
        }
        let slot = |row: usize| {
            let cache = self.cache.as_ref();
            cache.map_or(row, |c| c.slot_of[row].map_or(0, |slot| slot as usize))
        };
        let mut product = vec![0.0; self.len];
        for (number, order) in self.orders.iter().enumerate() {
            let rows: Vec<(&[f64], f64)> = entries
                .iter()
                .map(|&(row, entry)| (slot(row), entry))
                .filter(|&(slot, _)| self.slot_order[slot] == number)
                .map(|(slot, entry)| (self.at(slot), entry))
                .collect();
            if rows.is_empty() {
                continue;
            }
            watch.check()?;
            let mut sum = vec![0.0; self.len];
            // Pieces of columns that stay in the first-level cache while the rows go by.
            sum.par_chunks_mut(2048).enumerate().for_each(|(k, sum)| {
                for (row, entry) in &rows {
                    let row = &row[k * 2048..][..sum.len()];
                    sum.iter_mut().zip(row).for_each(|(s, r)| *s += entry * r);
                }
            });
            for (value, &column) in sum.iter().zip(&order.columns) {
                product[column as usize] += value;
            }
        }
        Ok(product)
    }
}

impl Order {
    fn first(len: usize) -> Self {
        Self {
            columns: (0..len as u32).collect(),
            changed: 0,
        }
    }
}
