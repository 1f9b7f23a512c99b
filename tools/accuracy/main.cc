// Prints docs/accuracy.md.
#include <cstdio>

#include "tools/accuracy/cache_rows.h"
#include "tools/accuracy/comparison.h"
#include "tools/accuracy/sglang_rows.h"

int main() {
  using shardplan::ConfigStore;
  namespace accuracy = shardplan::accuracy;
  const std::string data = SHARDPLAN_TEST_DATA;
  const auto fail = [](const shardplan::Error& error) {
    std::fprintf(stderr, "accuracy: %s\n", error.ToString().c_str());
    return 1;
  };
  const auto cases = accuracy::ReadCases(data);
  if (!cases) return fail(cases.error());
  const auto store = ConfigStore::WithOverrides(data + "/cases");
  if (!store) return fail(store.error());
  const auto rows = accuracy::Compare(*cases, *store);
  if (!rows) return fail(rows.error());
  const auto caches = accuracy::CompareCaches(*cases, *store);
  if (!caches) return fail(caches.error());
  const auto sglang = accuracy::CompareSglang(*cases, *store);
  if (!sglang) return fail(sglang.error());
  std::fputs(accuracy::Render(*rows).c_str(), stdout);
  std::fputs(accuracy::RenderCaches(*caches).c_str(), stdout);
  std::fputs(accuracy::RenderSglang(*sglang).c_str(), stdout);
  return 0;
}
