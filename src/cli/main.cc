// shardplan: does this sharded model fit on these cards, and what do I launch?
#include <exception>
#include <new>

#include "cli/app.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "shardplan/base/bytes.h"

int main(int argc, char** argv) {
  using namespace shardplan::cli;
  try {
    return RunApp(argc, argv);
  } catch (const shardplan::SizeOverflow& error) {
    PrintError(std::string(error.what()) + "; check the model's config and the options");
    return kExitInput;
  } catch (const std::bad_alloc&) {
    PrintError("out of memory");
  } catch (const std::exception& error) {
    PrintError(std::string("internal: ") + error.what() + "; please report this");
  } catch (...) {
    PrintError("internal: unknown; please report this");
  }
  return kExitInternal;
}
