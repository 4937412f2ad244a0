use expect_test::{Expect, expect};

use crate::{Denied, Rules, Verb};

use super::{principal, target};

fn check(text: &str, expected: &Expect) {
    let error = Rules::parse(text, "permissions.toml").expect_err("a file that is refused");
    expected.assert_eq(&format!("{error}\n{}\n", error.hint()));
}

const RULE: &str = "version = 1\n[[rule]]\nid = \"a\"\neffect = \"allow\"\nservers = [\"files\"]\nitems = [\"read_*\"]\n";

#[test]
fn what_is_not_understood_refuses_the_file() {
    check(
        "version = 1\n[[rule]\n",
        &expect![[r#"
            permissions.toml:2:8: unclosed array table, expected `]`
            Repair the line named above; until then everything is refused.
        "#]],
    );
    check(
        "",
        &expect![[r#"
            permissions.toml:1:1: missing field `version`
            Repair the line named above; until then everything is refused.
        "#]],
    );
    check(
        "version = 2",
        &expect![[r#"
            permissions.toml: version 2 of the rule file is not known, this program reads version 1
            Set version = 1, or install a newer Legation if the file comes from one.
        "#]],
    );
    check(
        &format!("{RULE}server = [\"x\"]\n"),
        &expect![[r#"
            permissions.toml:7:1: unknown field `server`, expected one of `id`, `effect`, `servers`, `items`, `verbs`, `clients`, `origins`, `trusted`, `read_only_hint`, `because`, `match`, `no_match`
            Repair the line named above; until then everything is refused.
        "#]],
    );
    check(
        "version = 1\n[[rule]]\nid = \"a\"\neffect = \"allow\"\nservers = [\"*\"]\n",
        &expect![[r#"
            permissions.toml:2:1: missing field `items`
            Repair the line named above; until then everything is refused.
        "#]],
    );
    check(
        "version = 1\n[[rule]]\nid = \"a\"\neffect = \"allow\"\nservers = \"*\"\nitems = [\"*\"]\n",
        &expect![[r#"
            permissions.toml:5:11: invalid type: string "*", expected a sequence
            Repair the line named above; until then everything is refused.
        "#]],
    );
}

#[test]
fn what_could_only_be_a_mistake_refuses_the_file() {
    check(
        &RULE.replace("\"a\"", "\"a b\""),
        &expect![[r#"
            permissions.toml: `a b` cannot be the id of a rule
            Use up to 64 letters, digits, dots, dashes and underscores; ids that start with `default.` or `governance.` belong to the program.
        "#]],
    );
    check(
        &RULE.replace("\"a\"", "\"default.deny\""),
        &expect![[r#"
            permissions.toml: `default.deny` cannot be the id of a rule
            Use up to 64 letters, digits, dots, dashes and underscores; ids that start with `default.` or `governance.` belong to the program.
        "#]],
    );
    let twice = format!("{RULE}{}", RULE.replace("version = 1\n", ""));
    check(
        &twice,
        &expect![[r#"
            permissions.toml: two rules have the id `a`
            Give each rule an id of its own.
        "#]],
    );
    check(
        &RULE.replace("allow", "permit"),
        &expect![[r#"
            permissions.toml: rule `a`: effect does not know `permit`
            Use one of: allow, deny, reads.
        "#]],
    );
    check(
        &format!("{RULE}verbs = [\"tools/list\"]\n"),
        &expect![[r#"
            permissions.toml: rule `a`: verbs does not know `tools/list`
            Use one of: tools/call, resources/read, prompts/get, completion/complete, tasks/update, tasks/cancel.
        "#]],
    );
    check(
        &format!("{RULE}origins = [\"mars\"]\n"),
        &expect![[r#"
            permissions.toml: rule `a`: origins does not know `mars`
            Use one of: user, workspace, additional, builtin.
        "#]],
    );
    check(
        &format!("{RULE}clients = []\n"),
        &expect![[r#"
            permissions.toml: rule `a`: clients is empty, so the rule could never match
            Write clients = ["*"] for all of them, or remove the rule.
        "#]],
    );
    check(
        &RULE.replace("read_*", ""),
        &expect![[r#"
            permissions.toml: rule `a`: items has a pattern that is empty or too long
            A pattern has 1 to 512 bytes; `*` stands for any text, `?` for one character.
        "#]],
    );
}

#[test]
fn examples_are_held_to() {
    check(
        &format!("{RULE}match = [\"files/read_file\", \"files/write_file\"]\n"),
        &expect![[r#"
            permissions.toml: rule `a`: the example `files/write_file` should match and does not
            Change servers and items until the example holds, or correct the example.
        "#]],
    );
    check(
        &format!("{RULE}no_match = [\"files/read_file\"]\n"),
        &expect![[r#"
            permissions.toml: rule `a`: the example `files/read_file` should not match and does
            Change servers and items until the example holds, or correct the example.
        "#]],
    );
    check(
        &format!("{RULE}match = [\"read_file\"]\n"),
        &expect![[r#"
            permissions.toml: rule `a`: the example `read_file` is not of the form server/item
            Write the server's name, a slash and the tool's own name, like files/read_file.
        "#]],
    );
    Rules::parse(
        &format!(
            "{RULE}match = [\"files/read_a/b\"]\nno_match = [\"files/write\", \"x/read_a\"]\n"
        ),
        "permissions.toml",
    )
    .expect("these examples hold");
}

#[test]
fn an_example_may_split_at_any_slash() {
    let rules = "version = 1\n[[rule]]\nid = \"a\"\neffect = \"deny\"\nservers = [\"team/files\"]\nitems = [\"file:///*\"]\nmatch = [\"team/files/file:///a\"]\n";
    Rules::parse(rules, "permissions.toml").expect("server names may hold a slash");
}

#[test]
fn equal_text_has_equal_version() {
    let one = Rules::parse(RULE, "a").expect("valid");
    let same = Rules::parse(RULE, "b").expect("valid");
    let other = Rules::parse(&format!("{RULE}# more\n"), "a").expect("valid");
    assert_eq!(one.version(), same.version());
    assert_ne!(one.version(), other.version());
    assert_ne!(one.version(), Rules::unavailable("gone").version());
}

fn refusal(rules: &Rules, edit: impl FnOnce(&mut crate::Target)) -> Denied {
    let mut target = target("files", Verb::CallTool, "write_file");
    edit(&mut target);
    rules
        .decide(&principal("claude"), target)
        .expect_err("nothing allows it")
}

#[test]
fn refusals_say_what_happened_and_what_to_do() {
    let print = |denied: &Denied, expected: &Expect| {
        expected.assert_eq(&format!("{denied}\n{}\n", denied.hint()));
    };
    let rules = Rules::parse(RULE, "permissions.toml").expect("valid");
    print(
        &refusal(&rules, |_| ()),
        &expect![[r#"
            calling the tool `files/write_file` is not allowed (rule `default.deny`): no rule allows it
            The owner can add a rule with effect = "allow", servers = ["files"] and items = ["write_file"] to governance/permissions.toml; it applies as soon as the file is saved.
        "#]],
    );
    print(
        &refusal(&rules, |target| target.trusted = false),
        &expect![[r#"
            calling the tool `files/write_file` is not allowed (rule `default.deny`): no rule allows it and the server has not been reviewed
            The owner can look at the server with `legation mcp show files` and allow it in governance/permissions.toml.
        "#]],
    );
    print(
        &refusal(&rules, |target| {
            target.trusted = false;
            target.origin = crate::Origin::Workspace("/home/ana/project".into());
        }),
        &expect![[r#"
            calling the tool `files/write_file` is not allowed (rule `default.deny`): no rule allows it and the server has not been reviewed
            The owner can review the server with `legation trust /home/ana/project`.
        "#]],
    );
    print(
        &refusal(&rules, |target| {
            target.verb = Verb::ReadResource;
            target.item = format!("file:///\u{1b}[2J{}", "x".repeat(10_000)).into();
        }),
        &expect![[r#"
            reading the resource `files/file:///\u{1b}[2Jxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is not allowed (rule `default.deny`): no rule allows it
            The owner can add a rule with effect = "allow", servers = ["files"] and items = ["file:///\u{1b}[2Jxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"] to governance/permissions.toml; it applies as soon as the file is saved.
        "#]],
    );
    print(
        &refusal(
            &Rules::unavailable("governance/permissions.toml is gone"),
            |_| (),
        ),
        &expect![[r#"
            calling the tool `files/write_file` is not allowed (rule `governance.unavailable`): governance/permissions.toml is gone
            The owner must repair or restore governance/permissions.toml; until then everything is refused.
        "#]],
    );
    let deny = Rules::parse(
        &format!(
            "{}because = \"this week is frozen\"\n",
            RULE.replace("allow", "deny").replace("read_*", "*")
        ),
        "permissions.toml",
    )
    .expect("valid");
    print(
        &refusal(&deny, |_| ()),
        &expect![[r#"
            calling the tool `files/write_file` is not allowed (rule `a`): this week is frozen
            Rule `a` in governance/permissions.toml forbids it; only the owner of this hub can change that rule.
        "#]],
    );
}
