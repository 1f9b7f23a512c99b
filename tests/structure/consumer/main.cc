#include <shardplan/base/config_store.h>
#include <shardplan/base/units.h>
#include <shardplan/hardware/cluster.h>

#include <iostream>

int main() {
  const auto catalog = shardplan::Catalog::Load(shardplan::ConfigStore::BuiltIn());
  if (!catalog) {
    std::cerr << catalog.error().ToString() << "\n";
    return 1;
  }
  const auto gpu = catalog->FindGpu("h20-96");
  if (!gpu) return 1;
  std::cout << gpu->name << ": " << shardplan::FormatGiB(gpu->device_total.bytes.central) << "\n";
  return 0;
}
