// rollup-boost as published, with its stream: the program of 0.7.13 takes `--flashblocks` and then does without.
use clap::Parser;
use eyre::OptionExt;
use rollup_boost::{FlashblocksWebsocketConfig, FlashblocksWsArgs, RollupBoostServiceArgs, init_tracing};

/// Arguments: the URL of the builder's stream, the port of the one that is served, then those of rollup-boost.
#[tokio::main]
async fn main() -> eyre::Result<()> {
    let mut words = std::env::args();
    let name = words.next().ok_or_eyre("no name")?;
    let builder = words.next().ok_or_eyre("no URL of a stream")?;
    let port = words.next().ok_or_eyre("no port")?;
    let mut service = RollupBoostServiceArgs::parse_from(std::iter::once(name).chain(words));
    service.lib.flashblocks_ws = Some(FlashblocksWsArgs {
        flashblocks_ws: true,
        flashblocks_builder_url: builder.parse()?,
        flashblocks_host: "127.0.0.1".to_owned(),
        flashblocks_port: port.parse()?,
        flashblocks_ws_config: FlashblocksWebsocketConfig::parse_from(["stream"]),
    });
    init_tracing(&service)?;
    service.run().await
}
