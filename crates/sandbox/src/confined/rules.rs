//! Landlock: the same as the mounts say, said to another part of the kernel.

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use super::NoWall;
use super::files::Places;

/// The newest version whose rights are known here; what an older kernel does
/// not know is left out.
const NEWEST: ABI = ABI::V6;

/// Forbids everything that the places do not allow, and signals and abstract
/// sockets beyond the sandbox.
pub(super) fn enforce(places: &Places) -> Result<(), NoWall> {
    let what = "enforcing Landlock's rules";
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::from_read(NEWEST);
    // A device that somebody made opens doors that no path shows.
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(|rules| rules.create())
        .map_err(NoWall::new(what))?;
    let rules = add(rules, &places.read, read)?;
    let rules = add(rules, &places.write, write)?;
    let rules = add(rules, &places.devices, device)?;
    let status = rules.restrict_self().map_err(NoWall::new(what))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(NoWall::new(what)(
            "this kernel has no Landlock, or it is off",
        ));
    }
    Ok(())
}

fn add(
    rules: RulesetCreated,
    paths: &[std::path::PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, NoWall> {
    rules
        .add_rules(path_beneath_rules(paths, access))
        .map_err(NoWall::new("adding Landlock's rules"))
}
