//! Boxed futures, made where they lie.

/// `Box::pin`, but for a future that is made in its box.
///
/// A future has room for all that it will ever hold. `Box::pin` and `.boxed()` make it on the stack and copy the whole
/// of it, of a call's several kilobytes that hold nothing yet; here only what it captures is written.
///
/// ```
/// let name = String::from("clock");
/// let length = legation_core::boxed!(async move { name.len() });
/// # let waker = std::task::Waker::noop();
/// # let mut length = length;
/// # let found = length.as_mut().poll(&mut std::task::Context::from_waker(waker));
/// # assert_eq!(found, std::task::Poll::Ready(5));
/// ```
#[macro_export]
macro_rules! boxed {
    ($future:expr) => {{
        // The box comes first: with nothing between the future and its place that could fail, the compiler needs no
        // other place for it.
        let place = ::std::boxed::Box::new_uninit();
        let future = ::std::boxed::Box::write(place, $future);
        ::std::boxed::Box::into_pin(future)
    }};
}
