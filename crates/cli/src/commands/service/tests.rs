use expect_test::expect;

use super::*;

#[test]
fn a_unit_names_the_program_the_folder_and_the_path() {
    expect![[r#"
        [Unit]
        Description=Legation, the hub of this user's coding agents

        [Service]
        Environment="PATH=/opt/a $x%%:/bin"
        ExecStart="/opt/my \"tools\"/$$x/legation" --home "/home/me/100%%" serve
        Restart=on-failure
        RestartSec=2

        [Install]
        WantedBy=default.target
    "#]]
    .assert_eq(&systemd_unit(
        r#"/opt/my "tools"/$x/legation"#,
        "/home/me/100%",
        "/opt/a $x%:/bin",
    ));
}

#[test]
fn a_property_list_escapes_its_texts() {
    let text = launchd_plist("/Applications/A & B/legation", "/Users/me/<x>", "/usr/bin");
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
          <key>Label</key>
          <string>legation.hub</string>
          <key>ProgramArguments</key>
          <array>
            <string>/Applications/A &amp; B/legation</string>
            <string>--home</string>
            <string>/Users/me/&lt;x&gt;</string>
            <string>serve</string>
          </array>
          <key>EnvironmentVariables</key>
          <dict>
            <key>PATH</key>
            <string>/usr/bin</string>
          </dict>
          <key>RunAtLoad</key>
          <true/>
          <key>KeepAlive</key>
          <dict>
            <key>SuccessfulExit</key>
            <false/>
          </dict>
        </dict>
        </plist>
    "#]]
    .assert_eq(&text);
}
