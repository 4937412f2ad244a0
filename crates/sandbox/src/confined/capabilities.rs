//! Capabilities: some for building the walls, none behind them.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// What building needs: mounts, an interface, low ports on it, and giving up the rest.
const NEEDED: [CapabilitySet; 4] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::SETPCAP,
];

/// Lets the next program of this process keep what it needs. They count in the
/// new user namespace only.
pub(super) fn keep_over_exec() -> rustix::io::Result<()> {
    let mut sets = capabilities(None)?;
    for needed in NEEDED {
        sets.inheritable |= needed;
    }
    set_capabilities(None, sets)?;
    for needed in NEEDED {
        configure_capability_in_ambient_set(needed, true)?;
    }
    Ok(())
}

/// Gives up every capability for ever, also those that a program file or the
/// name of root would bring back.
pub(super) fn give_up() -> rustix::io::Result<()> {
    clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // This kernel does not know it.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        },
    )?;
    set_no_new_privs(true)
}
