// Step steer of Project Chrono's sedan with TMeasy tyres on a plane; prints samples and processor times.
//
// chrono_car VEHICLE_DATA STEP SPEED SOLVER STEPPER LEAD
//   VEHICLE_DATA  folder data/vehicle/ of Chrono, with a slash at the end
//   STEP          time step [s]
//   SPEED         of the chassis at the start [m/s]
//   SOLVER        lu, qr, bb (Barzilai-Borwein, Chrono's own choice for vehicles), apgd, psor, minres;
//                 psor:50 of at most 50 iterations, 150 without a number as Chrono's vehicles have it
//   STEPPER       linearized, projected, hht
//   LEAD          steps by which the steering input runs ahead of the step: 0, as in Chrono's demos, or 1
//
// The car has neither driveline nor brakes. Nothing is drawn and nothing collides: the tyres find the plane themselves.
// The processor time is that of the steps from 4 s on, in which the car steers.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chrono/physics/ChSystem.h"
#include "chrono/solver/ChDirectSolverLS.h"
#include "chrono/solver/ChIterativeSolver.h"
#include "chrono/timestepper/ChTimestepperHHT.h"
#include "chrono_vehicle/ChVehicleDataPath.h"
#include "chrono_vehicle/terrain/FlatTerrain.h"
#include "chrono_vehicle/utils/ChVehicleUtilsJSON.h"
#include "chrono_vehicle/wheeled_vehicle/vehicle/WheeledVehicle.h"

using namespace chrono;
using namespace chrono::vehicle;

namespace {

const double BEGIN = 4.0, END = 7.0, RISE = 0.1, INPUT = 0.05;
const std::vector<double> SAMPLES = {4.0, 4.1, 4.2, 4.3, 4.5, 5.0, 6.0};

class CoastingCar : public WheeledVehicle {
  public:
    explicit CoastingCar(const std::string& file) : WheeledVehicle(file, ChContactMethod::SMC, false, false) {
        m_driveline = nullptr;
        for (auto& axle : m_axles)
            axle->m_brake_left = axle->m_brake_right = nullptr;
    }
};

void choose(ChSystem& system, const std::string& solver, const std::string& stepper) {
    const std::map<std::string, ChSolver::Type> solvers = {
        {"lu", ChSolver::Type::SPARSE_LU}, {"qr", ChSolver::Type::SPARSE_QR},
        {"bb", ChSolver::Type::BARZILAIBORWEIN}, {"apgd", ChSolver::Type::APGD},
        {"psor", ChSolver::Type::PSOR}, {"minres", ChSolver::Type::MINRES}};
    const std::size_t colon = solver.find(':');
    system.SetSolverType(solvers.at(solver.substr(0, colon)));
    if (auto direct = std::dynamic_pointer_cast<ChDirectSolverLS>(system.GetSolver()))
        direct->LockSparsityPattern(true);  // the analysis of the matrix is made once
    else if (auto iterative = std::dynamic_pointer_cast<ChIterativeSolver>(system.GetSolver()))
        iterative->SetMaxIterations(colon == std::string::npos ? 150 : std::stoi(solver.substr(colon + 1)));
    const std::map<std::string, ChTimestepper::Type> steppers = {
        {"linearized", ChTimestepper::Type::EULER_IMPLICIT_LINEARIZED},
        {"projected", ChTimestepper::Type::EULER_IMPLICIT_PROJECTED}, {"hht", ChTimestepper::Type::HHT}};
    system.SetTimestepperType(steppers.at(stepper));
}

double processor_time() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// t, then velocity of the centre of mass x, y, yaw rate (chassis axes), roll, yaw, then angles of the road wheels
void print_motion(CoastingCar& car, double t) {
    auto body = car.GetChassisBody();
    const ChMatrix33<>& R = body->GetRotMat();
    ChVector3d v = body->TransformDirectionParentToLocal(body->GetPosDt());
    std::printf("%.6f %.9f %.9f %.9f %.9f %.9f", t, v.x(), v.y(), body->GetAngVelLocal().z(),
                std::atan2(R(2, 1), R(2, 2)), std::atan2(R(1, 0), R(0, 0)));
    for (int axle : {0, 1})
        for (VehicleSide side : {LEFT, RIGHT})
            std::printf(" %.9f", car.GetSteeringAngle(axle, side));
}

// then the loads, which Chrono computes at the beginning of the step that starts here
void print_loads(CoastingCar& car) {
    for (int axle : {0, 1})
        for (VehicleSide side : {LEFT, RIGHT})
            std::printf(" %.6f", car.GetTire(axle, side)->ReportTireForce(nullptr).force.z());
    std::printf("\n");
}

}  // namespace

int main(int argc, char* argv[]) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: chrono_car VEHICLE_DATA STEP SPEED SOLVER STEPPER LEAD\n");
        return 2;
    }
    std::cout.setstate(std::ios::failbit);  // Chrono tells which files it reads
    SetVehicleDataPath(argv[1]);
    const double h = std::atof(argv[2]), lead = std::atof(argv[6]) * h;
    CoastingCar car(GetVehicleDataFile("sedan/vehicle/Sedan_Vehicle.json"));
    car.GetSystem()->SetNumThreads(1, 1, 1);
    choose(*car.GetSystem(), argv[4], argv[5]);
    car.Initialize(ChCoordsys<>(ChVector3d(0, 0, 0.22), QUNIT), std::atof(argv[3]));
    for (auto& axle : car.GetAxles())
        for (auto& wheel : axle->GetWheels()) {
            auto tire = ReadTireJSON(GetVehicleDataFile("sedan/tire/Sedan_TMeasyTire.json"));
            car.InitializeTire(tire, wheel, VisualizationType::NONE);
            tire->SetStepsize(h);
        }
    FlatTerrain road(0.0, 0.8f);

    const long steps = std::lround(END / h), first = std::lround(BEGIN / h);
    std::size_t next = 0;
    double began = 0.0;
    for (long k = 0; k < steps; k++) {
        const double t = k * h;
        if (k == first)
            began = processor_time();
        const bool sampled = next < SAMPLES.size() && k == std::lround(SAMPLES[next] / h);
        if (sampled)
            print_motion(car, t);
        const double risen = std::min(std::max((t + lead - BEGIN) / RISE, 0.0), 1.0);
        DriverInputs inputs = {INPUT * risen, 0.0, 0.0, 0.0};
        road.Synchronize(t);
        car.Synchronize(t, inputs, road);
        road.Advance(h);
        car.Advance(h);
        if (sampled) {
            print_loads(car);
            next++;
        }
    }
    const double seconds = processor_time() - began;
    std::printf("processor %.9f s for %ld steps\n", seconds, steps - first);
    return 0;
}
