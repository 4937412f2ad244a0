//! A terminal whose own program fails.

use legation_tests::harness::process::program;

use super::Place;

#[tokio::test]
async fn the_terminal_is_given_back_where_its_program_fails() -> anyhow::Result<()> {
    let place = Place::new(80).await?;
    // No hub is there for it, so that the thread that starts one is reached.
    let home = place.hub.folder().join("nobody");
    let mark = place.hub.folder().join("fail-now");
    for place_of_failure in ["loop", "thread"] {
        for screen in ["inline", "fullscreen"] {
            let line = format!(
                "{} {} {} {place_of_failure} {screen}",
                program("failing-chat")?.display(),
                home.display(),
                mark.display(),
            );
            place.terminal.enter(&line).await?;
            place.until("? help").await?;
            place.terminal.write("half a sentence").await?;
            place.until("> half a sentence").await?;
            std::fs::write(&mark, "")?;
            place.until("it fails on purpose").await?;
            place.until_sane().await?;
            std::fs::remove_file(&mark)?;
            place.terminal.enter("clear").await?;
        }
    }
    Ok(())
}
