{
  description = "A state machine between an AI coding agent and its tools";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "interlock";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [
            "--package"
            "interlock"
          ];
          # The tests start real clients and need a network.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/interlock man > interlock.1
            installManPage interlock.1
            installShellCompletion --cmd interlock \
              --bash <($out/bin/interlock completions bash) \
              --zsh <($out/bin/interlock completions zsh) \
              --fish <($out/bin/interlock completions fish)
          '';
          meta = {
            description = "A state machine between an AI coding agent and its tools";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "interlock";
          };
        };
      });
    };
}
