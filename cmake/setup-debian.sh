# shellcheck shell=bash
# Sourced by quickstart, run-tests and .ci/run: installs the Debian packages that are missing.

# shellcheck disable=SC2034
readonly SHARDPLAN_PACKAGES=(
  cmake g++ ninja-build
  libbenchmark-dev libcli11-dev libexpected-dev libfmt-dev libgmock-dev libgtest-dev
  libre2-dev libsimdjson-dev libspdlog-dev libyaml-cpp-dev nlohmann-json3-dev
)
# What only the tests need.
# shellcheck disable=SC2034
readonly SHARDPLAN_TEST_PACKAGES=(shellcheck)

# The command whose presence makes a package unnecessary; empty for libraries.
shardplan_command_of() {
  case "$1" in
    cmake) echo cmake ;;
    g++) echo g++ ;;
    ninja-build) echo ninja ;;
    clang) echo clang++ ;;
    clang-format | clang-tidy | shellcheck) echo "$1" ;;
  esac
}

# shardplan_setup PACKAGE...: calls apt-get only where something is missing. On systems without dpkg
# it leaves everything to CMake.
shardplan_setup() {
  command -v dpkg-query > /dev/null || return 0
  local package command
  local missing=()
  for package in "$@"; do
    command=$(shardplan_command_of "$package")
    if [[ -n $command ]] && command -v "$command" > /dev/null; then continue; fi
    if [[ $(dpkg-query -W -f='${Status}' "$package" 2> /dev/null) == *" installed" ]]; then
      continue
    fi
    missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return 0; fi

  if ((EUID != 0)); then
    {
      echo "Some Debian packages are missing. Install them, then run this again:"
      echo "  sudo apt-get install --no-install-recommends ${missing[*]}"
    } >&2
    return 1
  fi
  echo "Installing ${missing[*]} …"
  export DEBIAN_FRONTEND=noninteractive
  # A mirror that cannot be refreshed may still have lists that do.
  apt-get update -qq || echo "apt-get update failed; trying with the lists that are there" >&2
  apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}
