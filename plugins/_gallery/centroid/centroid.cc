// A plugin in C++, without an SDK: the noisy sum of the labeled points in the unit ball.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "plugin.grpc.pb.h"

using namespace shatter::plugin::v1;
using grpc::ServerContext;
using grpc::Status;

// The memory files of the sessions and of the data set, at the descriptors 4 and 5; null: there is no data set.
const char *sessions, *dataset;

// Returns the memory of a table.
const char* memoryOf(const Table& t) { return (t.place() == Table::PLACE_DATASET ? dataset : sessions) + t.offset(); }

// Returns the memory file at a descriptor; null: there is none.
const char* mapped(int descriptor) {
  struct stat file;
  if (fstat(descriptor, &file) != 0) return nullptr;
  void* memory = mmap(nullptr, file.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory);
}

double scaleOf(const Setting& s) { // 1 unless the sweep file sets the parameter
  auto p = s.parameters().find("scale");
  return p == s.parameters().end() ? 1 : p->second.float_();
}

std::string refusalOf(const Setting& s) { // "": accepted
  for (const auto& [name, value] : s.parameters())
    if (name != "scale" || value.kind_case() != Value::kFloat || !(value.float_() >= 1 && value.float_() <= 100))
      return "parameter " + name + ": the only parameter is scale, a number from 1 to 100";
  if (s.task() != TASK_LEARN) return "only the task learn is supported";
  if (s.problem().class_() != "halfspace") return "class " + s.problem().class_() + ": use class halfspace";
  return "";
}

// Returns the noisy sum of y x in one trial. A replaced example changes the sum by at most 2 in the Euclidean norm,
// and so by at most 2 sqrt(dim) in the sum of absolute values.
std::vector<double> learn(const Setting& s, const Table& t, uint64_t trial, uint64_t high, uint64_t low) {
  auto x = reinterpret_cast<const double*>(memoryOf(t) + t.x_at()) + trial * s.n() * t.dim();
  auto y = reinterpret_cast<const double*>(memoryOf(t) + t.y_at()) + trial * s.n();
  std::vector<double> w(t.dim());
  for (int64_t i = 0; i < s.n(); i++)
    for (uint32_t k = 0; k < t.dim(); k++) w[k] += y[i] * x[i * t.dim() + k];
  std::seed_seq seed{uint32_t(high >> 32), uint32_t(high), uint32_t(low >> 32), uint32_t(low)};
  std::mt19937_64 random(seed);
  auto exponential = [&] { return -std::log((double(random() >> 11) + 0.5) * 0x1p-53); };
  double b = scaleOf(s) * 2 * std::sqrt(double(t.dim())) / s.epsilon();
  for (double& v : w) v += b * (exponential() - exponential());
  return w;
}

// Returns the answers to a step: one label for each requested point of each trial.
std::string answer(const Step& s, const std::vector<std::vector<double>>& trained) {
  std::string packed;
  uint64_t next = 0;
  for (int j = 0; j < s.counts_size(); j++) {
    uint64_t row = s.shared() ? s.first_row() : next;
    next += s.counts(j);
    auto x = reinterpret_cast<const double*>(memoryOf(s.points()) + s.points().x_at());
    for (uint32_t i = 0; i < s.counts(j); i++, row++) {
      double sum = 0;
      for (uint32_t k = 0; k < s.points().dim(); k++) sum += trained[j][k] * x[row * s.points().dim() + k];
      double label = sum > 0 ? 1 : -1;
      packed.append(reinterpret_cast<char*>(&label), sizeof label);
    }
  }
  return packed;
}

struct Centroid : Plugin::Service {
  Status Describe(ServerContext*, const DescribeRequest*, DescribeResponse* r) override {
    Algorithm* a = r->add_algorithms();
    a->set_name("gallery/centroid");
    a->set_version("1.0.0");
    a->set_doc("Sum of the labeled points, with Laplace noise.");
    a->add_tasks(TASK_LEARN);
    a->set_private_(true);
    Parameter* p = a->add_parameters();
    p->set_name("scale");
    p->set_doc("factor by which the noise exceeds the noise that the budget requires");
    p->mutable_default_()->set_float_(1);
    p->set_min(1);
    p->set_max(100);
    r->set_sdk("none, C++");
    r->set_protocol_min(1);
    r->set_protocol_max(1);
    return Status::OK;
  }

  Status Check(ServerContext*, const Setting* s, CheckResponse* r) override {
    if (std::string reason = refusalOf(*s); !reason.empty()) {
      r->mutable_refusal()->set_kind(Refusal::KIND_INVALID);
      r->mutable_refusal()->set_message(reason);
      return Status::OK;
    }
    (*r->mutable_parameters())["scale"].set_float_(scaleOf(*s));
    Guarantee* g = r->mutable_guarantee();
    g->set_pure(true);
    g->set_epsilon(s->epsilon() / scaleOf(*s));
    g->set_source("Laplace mechanism, sensitivity 2 sqrt(d)");
    return Status::OK;
  }

  Status Bound(ServerContext*, const Setting*, BoundResponse*) override { return Status::OK; } // no bound is known

  Status Session(ServerContext*, grpc::ServerReaderWriter<SessionResponse, SessionRequest>* stream) override {
    std::vector<std::vector<double>> trained;
    SessionRequest q;
    while (stream->Read(&q)) {
      SessionResponse r;
      if (q.has_open()) {
        if (std::string reason = refusalOf(q.open().setting()); !reason.empty())
          return Status(grpc::StatusCode::INVALID_ARGUMENT, reason);
        for (int j = 0; 2 * j < q.open().seeds_size(); j++)
          trained.push_back(learn(q.open().setting(), q.open().sample(), j, q.open().seeds(2 * j), q.open().seeds(2 * j + 1)));
        r.mutable_opened();
      } else if (q.has_step()) {
        r.mutable_answers()->set_values(answer(q.step(), trained));
      } else {
        r.mutable_closed();
      }
      if (!stream->Write(r)) break;
    }
    return Status::OK;
  }
};

int main() {
  const char* dir = std::getenv("PLUGIN_UNIX_SOCKET_DIR");
  sessions = mapped(4), dataset = mapped(5);
  if (!dir || !sessions) {
    std::cerr << "This is a plugin of Shatter: name it in a sweep file, plugins: [./centroid]\n";
    return 2;
  }
  for (int fd = 3; fd <= 6; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);

  Centroid service;
  std::string path = std::string(dir) + "/socket";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server) return std::cerr << "cannot listen at " << path << "\n", 1;
  std::cout << "1|1|unix|" << path << "|grpc" << std::endl;

  char end;
  while (read(3, &end, 1) > 0) {} // until the host ends
  unlink(path.c_str());
  _exit(0);
}
