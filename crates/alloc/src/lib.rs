//! Where the program's memory comes from.
//!
//! A call takes some fifty small pieces of memory and gives them back, which with the system's allocator was an eighth of
//! its instructions; mimalloc does it in a third of them. But where a large piece grows it makes another and copies, and a
//! message of 40 MiB that arrives in parts would take three times its size: the system moves the pages instead, and has them back at once. So small
//! pieces are mimalloc's and large ones the system's. A piece's size says whose it is, and nothing else is kept.
//!
//! mimalloc is asked for a piece of a certain alignment only where that is more than every piece has: it looks for those
//! among pieces of its sizes that are powers of two, and of the others, a quarter of what a call takes, it looks again for each,
//! in five times the instructions.
//!
//! mimalloc would also map a gigabyte at once, writable, which counts against `RLIMIT_DATA` whole: the program that puts up a
//! server's walls sets that limit on itself, and could start nothing any more. It is told to make writable only what it
//! gives away.
//!
//! Architecture invariant: the only unsafe code of the workspace is here. It hands on to one of the two what its own caller
//! promised, and sets that one option.

#![expect(
    unsafe_code,
    reason = "an allocator is an unsafe trait, and no crate at hand divides by size between two"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_long};
use std::ptr::NonNull;

use libmimalloc_sys as mimalloc;

/// From this many bytes on a piece is the system's. glibc's own take pages of their own for such a one.
const LARGE: usize = 128 * 1024;

/// `mi_option_arena_eager_commit` of `mimalloc.h`: whether what is set aside is writable from the start.
const ARENA_EAGER_COMMIT: c_int = 4;

// SAFETY: `mimalloc.h` declares it so.
unsafe extern "C" {
    fn mi_option_set_default(option: c_int, value: c_long);
}

/// The place of what runs before everything that takes memory: the standard library's own has 99.
// SAFETY: the linker makes a table of functions of this signature from such sections.
#[used]
#[unsafe(link_section = ".init_array.00098")]
static BEFORE_ANYTHING: extern "C" fn() = set_options;

extern "C" fn set_options() {
    // SAFETY: it writes to a table that is there from the start, and no other thread runs yet.
    unsafe { mi_option_set_default(ARENA_EAGER_COMMIT, 0) };
}

/// The allocator, for `#[global_allocator]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct BySize;

/// What mimalloc aligns every piece to that is not smaller than its alignment: `MI_MAX_ALIGN_SIZE` of its `types.h`.
const ALIGNED: usize = 16;

/// Whether a piece of this size is the system's.
const fn is_large(size: usize) -> bool {
    size >= LARGE
}

/// Whether mimalloc aligns a piece of this size so without being asked to.
const fn is_aligned(size: usize, align: usize) -> bool {
    align <= ALIGNED && align <= size
}

// SAFETY: every piece comes from one of two allocators that keep the trait's promises, is given back to the same one
// because its size alone decides, and is never touched behind the smaller of its two sizes when it moves.
unsafe impl GlobalAlloc for BySize {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size()) {
            // SAFETY: the caller's promise about the layout is what both ask for.
            unsafe { System.alloc(layout) }
        } else {
            let (size, align) = (layout.size(), layout.align());
            let piece = if is_aligned(size, align) {
                // SAFETY: it may be asked for any size.
                unsafe { mimalloc::mi_malloc(size) }
            } else {
                // SAFETY: it may be asked for any size, and a layout's alignment is a power of two.
                unsafe { mimalloc::mi_malloc_aligned(size, align) }
            };
            piece.cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if is_large(layout.size()) {
            // SAFETY: a piece of this size was taken from the system, with this layout.
            unsafe { System.dealloc(piece, layout) }
        } else {
            // SAFETY: a piece of this size was taken from mimalloc.
            unsafe { mimalloc::mi_free(piece.cast()) }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size()) {
            // SAFETY: the caller's promise about the layout is what both ask for.
            unsafe { System.alloc_zeroed(layout) }
        } else {
            let (size, align) = (layout.size(), layout.align());
            let piece = if is_aligned(size, align) {
                // SAFETY: it may be asked for any size.
                unsafe { mimalloc::mi_zalloc(size) }
            } else {
                // SAFETY: it may be asked for any size, and a layout's alignment is a power of two.
                unsafe { mimalloc::mi_zalloc_aligned(size, align) }
            };
            piece.cast()
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_large(layout.size()), is_large(size)) {
            // SAFETY: a piece of either size is the system's, and the caller's promises are what it asks for.
            (true, true) => unsafe { System.realloc(piece, layout, size) },
            (false, false) => {
                let (piece, align) = (piece.cast(), layout.align());
                let moved = if is_aligned(size, align) {
                    // SAFETY: a piece of the old size was taken from mimalloc.
                    unsafe { mimalloc::mi_realloc(piece, size) }
                } else {
                    // SAFETY: the same, and a layout's alignment is a power of two.
                    unsafe { mimalloc::mi_realloc_aligned(piece, size, align) }
                };
                moved.cast()
            }
            // SAFETY: the caller's promises are what it asks for.
            _ => unsafe { change_hands(*self, piece, layout, size) },
        }
    }
}

/// A piece that was one's and becomes the other's.
///
/// # Safety
/// As [`GlobalAlloc::realloc`].
#[cold]
unsafe fn change_hands(memory: BySize, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // The caller promises that this size is one that a layout may have.
    let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the caller promises that the size is not zero.
    let new = unsafe { memory.alloc(wanted) };
    if NonNull::new(new).is_some() {
        let kept = layout.size().min(size);
        // SAFETY: both are valid for so many bytes, and a piece that was just taken does not overlap one in use.
        unsafe { std::ptr::copy_nonoverlapping(old, new, kept) };
        // SAFETY: the caller promises that the old piece was taken with this layout.
        unsafe { memory.dealloc(old, layout) };
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: BySize = BySize;

    fn byte(at: usize) -> u8 {
        u8::try_from(at % 251).expect("less than 251")
    }

    #[test]
    fn a_piece_keeps_what_it_holds_when_it_changes_hands() {
        for (from, to) in [
            (1, LARGE),
            (LARGE - 1, LARGE),
            (LARGE, LARGE - 1),
            (LARGE, 1),
            (3 * LARGE, 100),
            (100, 3 * LARGE),
            (100, 1_000),
            (LARGE, 5 * LARGE),
        ] {
            let mut piece: Vec<u8> = Vec::with_capacity(from);
            piece.extend((0..from.min(to)).map(byte));
            if to > from {
                piece.reserve_exact(to - piece.len());
            } else {
                piece.shrink_to(to);
            }
            assert_eq!(piece.capacity(), to, "{from} to {to}");
            let kept = piece.iter().enumerate().all(|(at, &held)| held == byte(at));
            assert!(kept, "{from} to {to}");
        }
    }

    #[test]
    fn what_is_set_aside_does_not_count() {
        let held = vec![1_u8; 1_000];
        let status = std::fs::read_to_string("/proc/self/status").expect("readable");
        let line = status.lines().find(|line| line.starts_with("VmData:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1));
        let kib: u64 = kib.expect("a number").parse().expect("a number");
        assert!(kib < 256 * 1024, "{kib} KiB, and {} bytes held", held.len());
    }

    #[test]
    fn what_is_asked_for_in_zeroes_is_zero() {
        for size in [1, 1_000, LARGE - 1, LARGE, 2 * LARGE] {
            drop(vec![0xff_u8; size]);
            assert!(vec![0_u8; size].iter().all(|&byte| byte == 0), "{size}");
        }
    }

    #[test]
    fn pieces_lie_as_they_ask_to() {
        let sizes = (1..=2_048).chain([LARGE - 1, LARGE, 2 * LARGE]);
        for size in sizes {
            for align in [1, 2, 4, 8, 16, 32, 64, 4_096] {
                let mut layout = Layout::from_size_align(size, align).expect("a layout");
                // SAFETY: no size is zero.
                let mut piece = unsafe { MEMORY.alloc_zeroed(layout) };
                assert!(!piece.is_null() && piece.addr().is_multiple_of(align));
                for size in [size + 24, size + LARGE, size, 1] {
                    // SAFETY: it was taken with this layout, and no size is zero.
                    piece = unsafe { MEMORY.realloc(piece, layout, size) };
                    assert!(!piece.is_null() && piece.addr().is_multiple_of(align));
                    layout = Layout::from_size_align(size, align).expect("a layout");
                }
                // SAFETY: it was taken anew with this layout.
                unsafe { MEMORY.dealloc(piece, layout) };
                // SAFETY: no size is zero.
                let fresh = unsafe { MEMORY.alloc(layout) };
                assert!(!fresh.is_null() && fresh.addr().is_multiple_of(align));
                // SAFETY: it was taken with this layout.
                unsafe { MEMORY.dealloc(fresh, layout) };
            }
        }
    }

    #[test]
    fn threads_give_back_what_others_took() {
        let pieces: Vec<Vec<u8>> = (0..64).map(|at| vec![byte(at); at * LARGE / 32]).collect();
        let sum = std::thread::spawn(move || pieces.iter().map(Vec::len).sum::<usize>());
        assert_eq!(
            sum.join().expect("it ends"),
            (0..64).map(|at| at * LARGE / 32).sum()
        );
    }
}
