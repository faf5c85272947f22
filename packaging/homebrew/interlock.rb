# Filled in by `cargo xtask package homebrew`.
class Interlock < Formula
  desc "State machine between an AI coding agent and its tools"
  homepage "https://github.com/interlock-cli/interlock"
  version "@VERSION@"
  license "Apache-2.0"

  base = "https://github.com/interlock-cli/interlock/releases/download/v#{version}/interlock-#{version}"

  on_macos do
    on_arm do
      url "#{base}-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256_DARWIN_ARM64@"
    end
    on_intel do
      url "#{base}-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256_DARWIN_X64@"
    end
  end

  on_linux do
    on_arm do
      url "#{base}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_LINUX_ARM64@"
    end
    on_intel do
      url "#{base}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_LINUX_X64@"
    end
  end

  def install
    bin.install "interlock"
    man1.install "man/interlock.1"
    bash_completion.install "completions/interlock.bash" => "interlock"
    zsh_completion.install "completions/_interlock"
    fish_completion.install "completions/interlock.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/interlock --version")
    system bin/"interlock", "demo"
  end
end
